/** The rules for the code: reads src/ and test/ and fails on an offence. The checkers are tested first. */
import t, { type Test } from 'tap'
import { findCasts } from './helpers/code/casts.js'
import { ruleOffences } from './helpers/code/code-rules.js'
import { unusedExportOffences } from './helpers/code/exports.js'
import { layeringOffences, type Source } from './helpers/code/layering.js'
import { readSources } from './helpers/code/read-sources.js'
import { findStaleExceptions, testPathOffences } from './helpers/code/test-paths.js'
import { vocabularyOffences } from './helpers/code/vocabulary.js'

const source = (path: string, ...lines: readonly string[]): Source => ({
  path,
  text: ['/** It is a source. */', ...lines, ''].join('\n'),
})

function offences(sources: readonly Source[]): readonly string[] {
  return [...layeringOffences(sources), ...sources.flatMap(ruleOffences)]
}

t.test('code that keeps the rules has no offence', async (t) => {
  const inner = ['  function part() {', ...Array<string>(20).fill('//'), '  }']
  const honest = [
    source(
      'src/base/mail/address.ts',
      'export type Address = string',
      '// Temporary: no; Date.now() and PRAGMA in words',
    ),
    source('src/base/config/load.ts', 'export const home = (): unknown => process.env'),
    source(
      'src/base/platform/clock.ts',
      "import { lookup } from 'node:dns'",
      'export const at = [Date.now(), new Date(), lookup]',
    ),
    source('src/base/storage/open.ts', "export const open = 'PRAGMA foreign_keys = ON'"),
    source(
      'src/servers/smtp/a.ts',
      "import { createServer, type Socket } from 'node:net'",
      "import { b } from './b.js'",
    ),
    source(
      'src/servers/smtp/b.ts',
      "import type { Address } from '../../base/mail/address.js'",
      'export const b = new Date(0)',
    ),
    source('src/base/storage/factory.ts', 'function make() {', ...Array(5).fill(inner).flat(), '}'),
    source('src/main.ts', "import { home } from './base/config/load.js'"),
  ]
  t.same([...offences(honest), ...honest.flatMap(vocabularyOffences)], [])
})

const faulty: readonly (readonly [rule: string, offence: RegExp, ...sources: readonly Source[]])[] = [
  ['an import upward', /upward/, source('src/base/mail/a.ts', "import { b } from '../storage/b.js'")],
  [
    'an import upward for a type',
    /upward/,
    source('src/base/mail/a.ts', "import type { B } from '../../operations/cli/b.js'"),
  ],
  ['an import upward of main.ts', /upward/, source('src/operations/cli/a.ts', "import { b } from '../../main.js'")],
  ['an import upward at run time', /upward/, source('src/base/mail/a.ts', "const b = await import('../storage/b.js')")],
  ['an import upward by export', /upward/, source('src/base/mail/a.ts', "export { b } from '../storage/b.js'")],
  ['an import sideways', /sideways/, source('src/base/mail/a.ts', "import { b } from '../platform/b.js'")],
  [
    'an import of the dashboard',
    /runs in browsers/,
    source('src/operations/cli/a.ts', "import { b } from '../../ui/b.ts'"),
  ],
  ['an import by the dashboard', /upward/, source('src/ui/a.tsx', "import { b } from '../base/mail/b.js'")],
  [
    'an import from outside',
    /outside src/,
    source('src/operations/cli/a.ts', "import { b } from '../../../test/b.js'"),
  ],
  ['a room without a floor', /no floor/, source('src/plumbing/a.ts')],
  [
    'a circle',
    /src\/base\/mail\/a\.ts -> src\/base\/mail\/b\.ts -> src\/base\/mail\/c\.ts -> src\/base\/mail\/a\.ts: a circle/,
    source('src/base/mail/a.ts', "import { b } from './b.js'"),
    source('src/base/mail/b.ts', "import { c } from './c.js'"),
    source('src/base/mail/c.ts', "import type { A } from './a.js'"),
  ],
  [
    'folders of a room that import each other',
    /mail\/mime\/a\.ts imports .*mail\/text\/b\.ts, but .*mail\/text\/c\.ts imports .*: src\/base\/mail\/mime and src\/base\/mail\/text import/,
    source('src/base/mail/mime/a.ts', "import { b } from '../text/b.js'"),
    source('src/base/mail/text/b.ts'),
    source('src/base/mail/text/c.ts', "import { d } from '../mime/d.js'"),
    source('src/base/mail/mime/d.ts'),
  ],
  [
    'a folder and the files beside it that import each other',
    /src\/base\/mail\/\* and src\/base\/mail\/mime import each other/,
    source('src/base/mail/mime/a.ts', "import { b } from '../b.js'"),
    source('src/base/mail/b.ts'),
    source('src/base/mail/c.ts', "import { d } from './mime/d.js'"),
    source('src/base/mail/mime/d.ts'),
  ],
  ['a barrel by name', /a barrel/, source('src/base/mail/index.ts')],
  ['a barrel by content', /a barrel/, source('src/base/mail/all.ts', "export * from './a.js'")],
  ['a name that says nothing', /"utils" says nothing/, source('src/base/mail/utils.ts')],
  ['a folder that says nothing', /"helpers" says nothing/, source('src/base/mail/helpers/a.ts')],
  ['the time', /a\.ts:2: Date\.now belongs to platform/, source('src/base/mail/a.ts', 'const at = Date.now()')],
  ['the time as a date', /new Date\(\)/, source('src/base/mail/a.ts', 'const at = new Date()')],
  ['the time in a page', /a\.ts:2: Date\.now belongs to ui/, source('src/ui/a.ts', 'const at = Date.now()')],
  ['the time as a date in a page', /new Date\(\) belongs to ui/, source('src/ui/a.ts', 'const at = new Date()')],
  ['chance', /Math\.random/, source('src/base/mail/a.ts', 'const random = Math.random')],
  ['DNS', /node:dns/, source('src/base/mail/a.ts', "import { lookup } from 'node:dns/promises'")],
  ['a dial', /connect of node:net/, source('src/base/mail/a.ts', "import { connect } from 'node:net'")],
  [
    'a renamed dial',
    /connect as dial of node:tls/,
    source('src/base/mail/a.ts', "import { connect as dial } from 'tls'"),
  ],
  ['a dial by the module', /net\.createConnection/, source('src/base/mail/a.ts', 'net.createConnection(25)')],
  ['a library elsewhere', /tldts belongs to base/, source('src/base/mail/a.ts', "import { parse } from 'tldts'")],
  [
    'a part of a library elsewhere',
    /mailauth belongs to inbound/,
    source('src/servers/smtp/a.ts', "import { spf } from 'mailauth/lib/spf'"),
  ],
  ['the environment', /process\.env/, source('src/base/platform/a.ts', 'const path = process.env.PATH')],
  ['a long file', /301 lines, more than 300/, source('src/base/mail/a.ts', ...Array<string>(300).fill('//'))],
  [
    'a long function',
    /a\.ts:3: long has 41 lines, more than 40/,
    source('src/base/mail/a.ts', 'class A {', '  long(): void {', ...Array<string>(39).fill('//'), '  }', '}'),
  ],
  [
    'a long function beside a long list',
    /a\.ts:3: long has 41 lines, more than 40/,
    source(
      'src/base/mail/a.ts',
      'class A {',
      '  long(): object {',
      ...Array<string>(38).fill('//'),
      'return {',
      ...Array<string>(9).fill('a,'),
      '} }',
      '}',
    ),
  ],
  [
    'a long callback',
    /outer has 42 lines/,
    source('src/base/mail/a.ts', 'function outer() {', '  each((a) => {', ...Array<string>(38).fill('//'), '  })', '}'),
  ],
  ['SQLite alone', /"PRAGMA" is SQLite/, source('src/records/messages/a.ts', "const sql = 'PRAGMA optimize'")],
  [
    'SQLite in a template',
    /"insert or" is SQLite/,
    source('src/records/events/a.ts', 'sql`insert or ignore into queue values (1)`'),
  ],
  [
    'a # member',
    /a\.ts:3: #count: members are private/,
    source('src/base/mail/a.ts', 'class A {', '  #count = 1', '}'),
  ],
  ['a file by an old word', /a file named "shelf"/, source('src/base/mail/key-shelf.ts')],
  ['a name by an old word', /a\.ts:2: "door" in the name openDoor/, source('src/base/mail/a.ts', 'const openDoor = 1')],
  ['a limit by an old word', /mostLines: a limit is MAX/, source('src/base/mail/a.ts', 'const mostLines = 1')],
  [
    'a function without a verb',
    /the function found: not a verb/,
    source('src/base/mail/a.ts', 'const found = () => 1'),
  ],
  [
    'a comment in old words',
    /a\.ts:2: "nobody" in a comment/,
    source('src/base/mail/a.ts', '/** What nobody reads. */'),
  ],
  ['work put off', /a\.ts:2: work put off/, source('src/base/mail/a.ts', '// TODO: later')],
  ['a silent export', /does not say what it returns/, source('src/base/mail/a.ts', 'export function a() {}')],
  ['a file without a head', /does not open/, { path: 'src/base/mail/a.ts', text: 'export const a = 1\n' }],
  ['a fragment at the head', /begins with "Of"/, { path: 'src/base/mail/a.ts', text: '/** Of a host: its name. */\n' }],
]

t.test('each offence is found', async (t) => {
  for (const [rule, offence, ...sources] of faulty) {
    const found = [...offences(sources), ...sources.flatMap(vocabularyOffences)]
    t.equal(found.length, 1, rule, { found })
    t.match(found[0] ?? '', offence, rule)
  }
})

const sources = readSources('src')
/** File by file, so that each is parsed once. */
const judgements = sources.map((file) => ({
  rules: ruleOffences(file),
  words: vocabularyOffences(file),
  casts: findCasts(file),
}))
const MAX_CASTS = 50

t.test('Posthorn keeps the rules', async (t) => {
  t.ok(sources.length > 10, 'src is read')
  failEach(t, [...layeringOffences(sources), ...judgements.flatMap(({ rules }) => rules)])
})

t.test('the package for Node.js keeps the rules for single files; it has no platform of ours', async (t) => {
  const files = readSources('clients/js/src').filter(({ path }) => !path.endsWith('/schema.ts'))
  t.ok(files.length > 5, 'clients/js is read')
  const found = [...files.flatMap(ruleOffences), ...files.flatMap(vocabularyOffences)]
  failEach(
    t,
    found.filter((offence) => !offence.endsWith('belongs to platform/')),
  )
})

t.test('names and comments use the words of the glossary', async (t) => {
  failEach(
    t,
    judgements.flatMap(({ words }) => words),
  )
})

t.test('what a file exports is imported by another one', async (t) => {
  const isTest = ({ path }: Source): boolean => path.endsWith('.test.ts')
  const [tests, helpers] = [readSources('test').filter(isTest), readSources('test').filter((file) => !isTest(file))]
  failEach(t, unusedExportOffences([...sources, ...helpers], [...tests, ...readSources('scripts', /./)]))
})

t.test('an export without an importer is found, however the others are imported', async (t) => {
  const exporting = (path: string, name: string): Source => source(path, `export const ${name} = 1`)
  const honest = [
    source('src/base/mail/a.ts', 'export interface A {}', 'export async function* b(): B {}', 'export const c = 1'),
    source('src/operations/cli/b.ts', "import { type A, b as each } from '../../base/mail/a.js'"),
    source('test/base/mail/a.test.ts', 'import {', '  b,', '  c,', "} from '../../../src/base/mail/a.js'"),
    exporting('src/base/mail/namespace.ts', 'd'),
    source('src/operations/cli/c.ts', "import * as all from '../../base/mail/namespace.js'"),
    exporting('src/base/mail/late.ts', 'e'),
    source('src/operations/cli/d.ts', "const { e } = await import('../../base/mail/late.js')"),
    exporting('src/base/mail/built.ts', 'f'),
    source('scripts/linear-parts/a.mjs', "import { f } from '../../dist/src/base/mail/built.js'"),
    exporting('src/base/mail/chosen.ts', 'g'),
    source('scripts/eval', "const { g } = await import(resolve(build, 'src/base/mail/chosen.js'))"),
  ]
  const lists = (all: readonly Source[]): [readonly Source[], readonly Source[]] => [
    all.filter(({ path }) => path.startsWith('src/')),
    all.filter(({ path }) => !path.startsWith('src/')),
  ]
  t.same(unusedExportOffences(...lists(honest)), [])
  for (const { path } of honest.filter(({ text }) => / import|^import|\nimport/.test(text))) {
    const rest = honest.filter((file) => file.path !== path)
    t.equal(unusedExportOffences(...lists(rest)).length, 1, `without ${path}`)
  }
})

t.test('type assertions stay few: a parser or a type guard is the usual way', async (t) => {
  const cases = source(
    'src/base/mail/a.ts',
    'const a = b as C',
    'const d = [1] as const',
    'const e = (f as unknown) as G',
  )
  t.same(findCasts(cases), [
    'src/base/mail/a.ts:2: b as C',
    'src/base/mail/a.ts:4: (f as unknown) as G',
    'src/base/mail/a.ts:4: f as unknown',
  ])
  const casts = judgements.flatMap(({ casts }) => casts)
  t.ok(casts.length < MAX_CASTS, `${casts.length} of fewer than ${MAX_CASTS}`, { casts })
})

t.test('a test file lies at the path of what it tests', async (t) => {
  const paths = (list: readonly Source[]): readonly string[] => list.map(({ path }) => path)
  const tests = paths(readSources('test')).filter((path) => path.endsWith('.test.ts'))
  t.same(testPathOffences(tests, paths(sources)), [])
  t.same(findStaleExceptions(tests), [])
  const files = ['src/base/mail/header.ts', 'src/inbound/spam/bayes/tokens.ts']
  const placed = [
    'base/mail/header',
    'base/mail/mail',
    'inbound/spam/bayes/bayes',
    'inbound/spam/peers',
    'base/mail/opendkim-peer',
    'inbound/spam/bayes',
    'journeys/any',
  ]
  t.same(testPathOffences(placed.map(testPath), files), [])
  t.equal(
    testPathOffences(['header', 'base/mail/odd', 'base/mail/bayes', 'servers/dns/dns'].map(testPath), files).length,
    4,
  )
})

/** One line for each: `node dist/test/layering.test.js | grep 'not ok'` is the list. */
function failEach(t: Test, found: readonly string[]): void {
  for (const offence of found) t.fail(offence)
  t.equal(found.length, 0, 'no offence')
}

function testPath(name: string): string {
  return `test/${name}.test.ts`
}
