/**
 * Where a test file lies: at the path of the source file that it tests; for the small modules of a folder, at the path
 * of the folder or inside of it by its name; in the folder, for tests beside other programs; in journeys/, conformance/,
 * ui/ or clients/, if it drives the whole daemon; or it is in the list below.
 */
import { posix } from 'node:path'

/** Folders whose files test the whole daemon. */
const WHOLE_DAEMON = ['test/journeys/', 'test/conformance/', 'test/ui/', 'test/clients/']

/** Tests of something else than a source file or a folder, with the reason. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['test/layering.test.ts', 'the rules for all source files'],
  ['test/regular-expressions.test.ts', 'the regular expressions of all source files'],
  ['test/docs.test.ts', 'the pages of docs/'],
  ['test/promised-names.test.ts', 'the names of all rooms that a major version keeps'],
  ['test/fuzz.test.ts', 'what scripts/fuzz has found in the parsers of all rooms, and its engine'],
  ['test/log-lines.test.ts', 'the log calls of all rooms, and docs/logs.md'],
  ['test/library-members.test.ts', 'members of libraries that several rooms rely on'],
  ['test/base/config/shipped-files.test.ts', 'the configurations and the unit that are installed'],
  ['test/operations/cli/manual.test.ts', 'the manual page of the packages, which a script makes'],
  ['test/operations/release.test.ts', 'what scripts/release writes'],
  ['test/operations/monitoring/alerts.test.ts', 'the alert rules that are shipped'],
  ['test/base/storage/query-plans.test.ts', 'the SQL of all rooms'],
  ['test/base/storage/postgres/statements.test.ts', 'the SQL of all rooms'],
  ['test/servers/api/fuzz.test.ts', 'every route with random requests'],
  ['test/servers/api/isolation.test.ts', 'every route with the keys of another workspace'],
  ['test/servers/api/wrong-requests.test.ts', 'the documented errors of all routes'],
  ['test/servers/api/openapi/generated-client.test.ts', 'a client generated from the OpenAPI document'],
  ['test/servers/api/openapi/reference-page.test.ts', 'the pages of the REST API'],
  ['test/servers/smtp/hostile-sessions.test.ts', 'both SMTP listeners with broken clients'],
])

/** Beside other programs: `peers.test.ts`, or `rspamd-peer.test.ts`. */
const PEERS = /(?:^|[/-])peers?\.test\.ts$/

/** Paths from the project's root. */
export function testPathOffences(tests: readonly string[], sources: readonly string[]): readonly string[] {
  const files = new Set(sources)
  const folders = new Set(sources.flatMap(foldersOf))
  return tests
    .filter((path) => !isPlaced(path, files, folders))
    .map((path) => `${path}: neither the path of a source file or folder nor a journey`)
}

/** Entries of the list whose file is gone. */
export function findStaleExceptions(tests: readonly string[]): readonly string[] {
  return [...EXCEPTIONS.keys()].filter((path) => !tests.includes(path))
}

function isPlaced(path: string, files: ReadonlySet<string>, folders: ReadonlySet<string>): boolean {
  if (EXCEPTIONS.has(path) || WHOLE_DAEMON.some((folder) => path.startsWith(folder))) return true
  const source = path.replace(/^test\//, 'src/').replace(/\.test\.ts$/, '.ts')
  if (files.has(source) || folders.has(source.replace(/\.ts$/, ''))) return true
  const folder = posix.dirname(source)
  if (!folders.has(folder)) return false
  return PEERS.test(path) || posix.basename(folder) === posix.basename(source, '.ts')
}

function foldersOf(path: string): readonly string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? [] : [folder, ...foldersOf(folder)]
}
