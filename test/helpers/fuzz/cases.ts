/** The findings that are kept, below test/fixtures/fuzz: a folder for each target, a file for each input. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = 'test/fixtures/fuzz'

interface FuzzCase {
  readonly file: string
  readonly input: Buffer
}

export function readCases(target: string): readonly FuzzCase[] {
  const folder = join(ROOT, target)
  if (!existsSync(folder)) return []
  return readdirSync(folder).map((name) => {
    const file = join(folder, name)
    return { file, input: readFileSync(file) }
  })
}

/** Of targets: those that have cases. */
export function listCaseFolders(): readonly string[] {
  return existsSync(ROOT) ? readdirSync(ROOT) : []
}
