//! Policies against libCacheSim, against plain lists, and against closed forms.

mod che;
mod curve;
mod libcachesim;
mod lists;
mod traces;
