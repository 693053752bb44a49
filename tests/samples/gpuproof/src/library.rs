//! Opens shared libraries with `dlopen`, so that the crate builds where no GPU is.

use std::ffi::{c_char, c_int, c_void, CString};

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

const RTLD_NOW: c_int = 2;

#[derive(Clone, Copy)]
pub struct Library(*mut c_void);

// A library handle may be used from any thread.
unsafe impl Send for Library {}
unsafe impl Sync for Library {}

impl Library {
    /// Opens the first of these libraries that is there.
    pub fn open(names: &[&str]) -> Option<Library> {
        names.iter().find_map(|name| {
            let name = CString::new(*name).ok()?;
            let handle = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
            (!handle.is_null()).then_some(Library(handle))
        })
    }

    /// Gives the address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        let address = unsafe { dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}
