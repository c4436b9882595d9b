mod content;
mod damage;
mod flags;
mod journal;
mod life;
mod mock;
mod power;
mod world;
