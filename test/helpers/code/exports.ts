/**
 * Exports of src/ and of the helpers of tests that no other file imports: they are exported for nothing, or dead.
 *
 * Reads import and export statements as text, without types: a namespace import and `await import('./x.js')` use every
 * export of the file, and so does a script that names the built file in a string. Default exports, export lists and
 * destructured exports are not read: there are none.
 */
import { posix } from 'node:path'
import type { Source } from './layering.js'

const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm
/** `import Default, { type A, b as c } from './file.js'`; the names may stand on several lines. */
const NAMED = /^(?:import|export)(?: type)?(?: \w+,)? \{([^}]*)\} from '(\.[^']+)'/gm
const NAMESPACE = /^(?:import|export) (?:type )?\*(?: as \w+)? from '(\.[^']+)'/gm
/** At run time, or as a type: `typeof import('./file.js')`. */
const AT_RUN_TIME = /\bimport\('(\.[^']+)'\)/g
/** A script that takes the folder of the build from its command line: `resolve(build, 'src/base/mail/address.js')`. */
const BUILT = /['"`](src\/[\w/-]+\.js)['"`]/g

/** `users`: the other files that import from `sources`, which are tests and scripts. */
export function unusedExportOffences(sources: readonly Source[], users: readonly Source[]): readonly string[] {
  const used = new Set<string>()
  for (const source of [...sources, ...users]) addUses(source, used)
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(EXPORT)]
      .map(([, name = '']) => name)
      .filter((name) => !used.has(`${path} ${name}`) && !used.has(path))
      .map((name) => `${path}: ${name} is exported, and no other file imports it`),
  )
}

/** `file name` for a name, `file` for all names of a file. */
function addUses({ path, text }: Source, used: Set<string>): void {
  for (const [, names = '', file = ''] of text.matchAll(NAMED)) {
    for (const name of names.split(',')) used.add(`${resolveImport(path, file)} ${importedName(name)}`)
  }
  for (const pattern of [NAMESPACE, AT_RUN_TIME]) {
    for (const [, file = ''] of text.matchAll(pattern)) used.add(resolveImport(path, file))
  }
  if (path.startsWith('src/')) return
  for (const [, file = ''] of text.matchAll(BUILT)) used.add(file.replace(/\.js$/, '.ts'))
}

/** `b` of `type b as c`. */
function importedName(text: string): string {
  return text
    .trim()
    .replace(/^type /, '')
    .replace(/ as .*$/s, '')
}

/** Scripts import the built file: `dist/src/base/mail/address.js`. */
function resolveImport(path: string, file: string): string {
  return posix
    .join(posix.dirname(path), file)
    .replace(/^dist\//, '')
    .replace(/\.js$/, '.ts')
}
