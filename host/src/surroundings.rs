//! surroundings
