"""PTX that is embedded in Rust: finding its texts, and asking the assembler about them."""
