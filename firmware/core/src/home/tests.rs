//! The home without a controller.
