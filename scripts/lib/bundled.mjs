// The program as packages have it, for measurements.
import { copyFileSync, existsSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundleProgram } from '../build-parts/bundle.mjs'

const folder = 'dist/bundled'
let bundling

/** Lays it once for all measurements of a run, and returns its folder. */
export function bundleOnce() {
  bundling ??= layBundle()
  return bundling
}

async function layBundle() {
  await bundleProgram(join(folder, 'dist'))
  copyFileSync('package.json', join(folder, 'package.json'))
  const dashboard = join(folder, 'dist/ui')
  if (!existsSync(dashboard)) symlinkSync(resolve('dist/ui'), dashboard)
  return folder
}
