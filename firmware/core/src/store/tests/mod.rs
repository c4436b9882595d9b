mod content;
mod damage;
mod flags;
mod life;
mod mock;
mod power;
mod world;
