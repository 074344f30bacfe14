#!/usr/bin/env node
// written by hand and not built: npm links a command only if its file is there, and in a clone `npm ci` comes before the build
import "@rheo/cli/bin";
