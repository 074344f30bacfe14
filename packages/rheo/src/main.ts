#!/usr/bin/env node
import "@rheo/cli/bin";
