/**
 * Which room may import which: a room (a folder of src/) imports only from floors below its own, rooms of one floor
 * do not import each other, no folders inside a room import each other, and no files import in a circle.
 *
 * Works on values, so that the checker itself can be tested; `layering.test.ts` gives it src/.
 */
import { posix } from 'node:path'
import ts from 'typescript'

export interface Source {
  /** From the project's root, as `src/base/mail/address.ts`. */
  readonly path: string
  readonly text: string
}

const BROWSER_ROOM = 'ui'

/** All rooms, lowest floor first. A new room is entered here before it gets a file. */
const floors: readonly (readonly string[])[] = [
  // The dashboard runs in browsers: it shares no module with the daemon.
  [BROWSER_ROOM],
  ['base/mail', 'base/platform'],
  ['base/config'],
  ['base/storage'],
  [
    'records/events',
    'records/metrics',
    'records/suppressions',
    'workspaces/accounts',
    'workspaces/content',
    'workspaces/audiences',
  ],
  ['records/messages', 'workspaces/domains', 'workspaces/imports', 'workspaces/sms'],
  [
    'inbound/spam',
    'outbound/tracking',
    'workspaces/webhooks',
    'records/exports',
    'operations/certificates',
    'outbound/breaker',
  ],
  ['outbound/delivery'],
  ['inbound/forwarding', 'operations/concerns'],
  ['inbound/receiving', 'outbound/sending'],
  ['outbound/broadcasts', 'operations/doctor', 'operations/monitoring', 'operations/notices', 'operations/upkeep'],
  ['servers/smtp', 'servers/api', 'servers/dns', 'servers/pages'],
  ['operations/daemon', 'operations/mcp'],
  ['operations/cli'],
  ['operations/sandbox', 'operations/installation', 'operations/sendmail', 'main.ts'],
]

export function layeringOffences(sources: readonly Source[]): readonly string[] {
  return [
    ...sources.flatMap(nameOffences),
    ...sources.flatMap(importOffences),
    ...findFolderPairs(sources),
    ...findCycles(sources),
  ]
}

/** `WING/ROOM` as in `src/base/mail/address.ts`, the dashboard, or a file directly in src/. */
export function roomOf(path: string): string {
  const [, wing = '', room = ''] = path.split('/')
  return room === '' || wing === BROWSER_ROOM ? wing : `${wing}/${room}`
}

export function floorOf(path: string): number {
  return floors.findIndex((rooms) => rooms.includes(roomOf(path)))
}

const bannedFileNames = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'manager', 'handler'])

function nameOffences({ path, text }: Source): readonly string[] {
  const found: string[] = []
  if (floorOf(path) === -1) found.push(`${path}: the room ${roomOf(path)} has no floor`)
  if (posix.basename(path) === 'index.ts' || /^export \*/m.test(text)) found.push(`${path}: a barrel`)
  const word = path.split(/[/.-]/).find((part) => bannedFileNames.has(part))
  if (word !== undefined) found.push(`${path}: "${word}" says nothing`)
  return found
}

function importOffences({ path, text }: Source): readonly string[] {
  return importsOf({ path, text }).flatMap((target) => {
    if (!target.startsWith('src/')) return [`${path}: imports ${target}, outside src`]
    if (roomOf(target) === roomOf(path)) return []
    if (roomOf(target) === BROWSER_ROOM) return [`${path}: imports ${target}, which runs in browsers`]
    const [here, there] = [floorOf(path), floorOf(target)]
    if (there === -1 || there < here) return []
    return [`${path}: imports ${target}, ${there === here ? 'sideways' : 'upward'}`]
  })
}

/** The files of the project that a file imports, for types too. */
function importsOf({ path, text }: Source): readonly string[] {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => name.startsWith('.'))
    .map((name) => posix.join(posix.dirname(path), name).replace(/\.js$/, '.ts'))
}

/** An import between two folders of a room, at the level where their paths part; the files beside the folders are one. */
interface FolderImport {
  readonly from: string
  readonly to: string
  readonly example: string
}

function findFolderPairs(sources: readonly Source[]): readonly string[] {
  const imports = sources.flatMap((source) => importsOf(source).flatMap((target) => folderImport(source.path, target)))
  const first = new Map(imports.map((found) => [`${found.from} ${found.to}`, found]))
  return [...first.values()].flatMap(({ from, to, example }) => {
    const back = first.get(`${to} ${from}`)
    return back === undefined || from > to
      ? []
      : [`${example}, but ${back.example}: ${from} and ${to} import each other`]
  })
}

function folderImport(path: string, target: string): readonly FolderImport[] {
  const [here, there] = [path.split('/'), target.split('/')]
  const parts = here.findIndex((name, at) => name !== there[at])
  const folderAt = (names: readonly string[]): string =>
    `${names.slice(0, parts).join('/')}/${parts < names.length - 1 ? names[parts] : '*'}`
  const [from, to] = [folderAt(here), folderAt(there)]
  const isInside = roomOf(path) === roomOf(target)
  return isInside && from !== to ? [{ from, to, example: `${path} imports ${target}` }] : []
}

function findCycles(sources: readonly Source[]): readonly string[] {
  const imports = new Map(sources.map((source) => [source.path, importsOf(source)]))
  const done = new Set<string>()
  const found: string[] = []
  const walk = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) found.push(`${[...way.slice(way.indexOf(path)), path].join(' -> ')}: a circle`)
    if (done.has(path) || way.includes(path)) return
    for (const target of imports.get(path) ?? []) walk(target, [...way, path])
    done.add(path)
  }
  for (const path of imports.keys()) walk(path, [])
  return found
}
