/** The cases below test/fixtures/fuzz: one file for each finding, its name from its kind and its bytes. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = 'test/fixtures/fuzz'

/** The path of the file; null: the finding is about no single input. */
export function saveFinding(target, { kind, input }) {
  if (input.length === 0 && kind === 'memory') return null
  const folder = join(ROOT, target)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${kind}-${createHash('sha256').update(input).digest('hex').slice(0, 8)}`)
  writeFileSync(file, input)
  return file
}

export function countFindings(target) {
  const folder = join(ROOT, target)
  return existsSync(folder) ? readdirSync(folder).length : 0
}
