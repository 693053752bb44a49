"""What an installation is made of: locks, images, scripts."""
