mod decade;
mod generate;
mod names;
mod rules;
