"""Methods of Rust's standard library: a name alone says nothing about what is called."""

from __future__ import annotations

_WORDS = """
abs all any append as_bytes as_mut as_ptr as_ref as_slice as_str borrow borrow_mut chain chars
chunks clamp clone cloned cmp collect contains contains_key context copied copy_from_slice cos count
default drain drop entry enumerate eq exp expect extend fill filter filter_map find first flat_map
floor fmt fold for_each from get get_mut get_or_insert_with hash insert into into_inner into_iter
is_empty is_err is_none is_ok is_some iter iter_mut join keys last len ln load lock map map_err max
min next ok ok_or ok_or_else or_else or_insert or_insert_with parse pop position powf powi push
push_str read recip remove replace resize rev round send sin skip sort spawn split split_at sqrt
starts_with step_by store sum swap take tan tanh to_le_bytes to_owned to_string to_vec trim try_into
unwrap unwrap_or unwrap_or_default unwrap_or_else values windows with_capacity write zip product
then and_then flatten copysign signum mul_add rem_euclid saturating_sub checked_add elapsed now
is_finite is_nan
add sub div rem neg offset cast as_mut_ptr as_bytes_mut sum_by unwrap_unchecked ok_or
"""

STANDARD_METHODS = frozenset(_WORDS.split())
