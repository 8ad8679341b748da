//! The view of one HTTP request: routes, token, guards and error bodies.

pub mod auth;
