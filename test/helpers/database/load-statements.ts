/** Loads every module of the program, so that `preparedStatements` lists all statements. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** These start their work when they are loaded, in a thread or a process of their own, or run in browsers. */
const programs = /(?:-worker|-thread|main)\.ts$|^ui\//

export async function loadAllModules(): Promise<void> {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  const isModule = (name: string): boolean => /(?<!\.d)\.ts$/.test(name) && !programs.test(name)
  for (const file of files.filter(isModule)) {
    await import(join(process.cwd(), 'dist/src', file.replace(/ts$/, 'js')))
  }
}
