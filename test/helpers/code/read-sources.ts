/** The sources of a folder as values, for the checkers of the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Source } from './layering.js'

/** Generated from the OpenAPI documents, for src/ui/. */
const GENERATED = /schema\.d\.ts$/

/** Files whose names match. */
export function readSources(folder: string, pattern = /\.tsx?$/): readonly Source[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name) && !GENERATED.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}
