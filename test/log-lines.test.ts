/** docs/logs.md lists the log lines of the code: each message, its levels, and the fields that its call states. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { logRooms } from '../src/base/platform/room-logs.js'
import { findLogCalls, type LogCall } from './helpers/code/log-calls.js'

/** Messages that a function puts together or takes from a table, by the file of the call. Each is on the page. */
const decidedElsewhere: Readonly<Record<string, readonly string[]>> = {
  'src/outbound/delivery/attempt/attempt-settler.ts': ['accepted', 'deferred', 'bounced', 'failed'],
  'src/workspaces/domains/recheck-domains.ts': [],
  'src/base/platform/connections/client-log.ts': [],
  // A warning, then a line for debugging.
  'src/workspaces/sms/smpp/link.ts': ['no SMPP session'],
}

interface Row {
  readonly message: string
  readonly levels: readonly string[]
  readonly fields: string
}

const page = readFileSync('docs/logs.md', 'utf8')
const rows: readonly Row[] = [...page.matchAll(/^\| `(?!msg`)([^`]+)` \| ([a-z, ]+) \| (.*) \|$/gm)].map(
  ([, message = '', levels = '', fields = '']) => ({ message, levels: levels.split(', '), fields }),
)
const calls: readonly LogCall[] = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('ui/'))
  .map((name) => join('src', name))
  .flatMap((path) => findLogCalls({ path, text: readFileSync(path, 'utf8') }))

/** A message that is put together counts by its beginning. */
function rowOf({ message }: LogCall): Row | undefined {
  return rows.find((row) => row.message === message?.trimEnd())
}

t.test('each line of the code is on the page, with its level and its fields', async (t) => {
  t.ok(calls.length > 100, `${calls.length} calls`)
  for (const call of calls) {
    const { path, level, message, fields } = call
    if (message === null) {
      t.ok(path in decidedElsewhere, `${path}: a message that no literal states`)
      continue
    }
    const row = rowOf(call)
    t.ok(row?.levels.includes(level), `${path}: ${level} "${message}"`)
    const absent = fields.filter((field) => !`${row?.fields} *the same*`.includes(`\`${field}\``))
    const isShared = /\bthe same\b|and (?:what|why)|see \[/.test(row?.fields ?? '')
    if (!isShared) t.same(absent, [], `${path}: fields of "${message}"`)
  }
})

t.test('each line of the page is in the code', async (t) => {
  const domainMessages = readFileSync('src/workspaces/domains/recheck-domains.ts', 'utf8')
  const others = new Set(Object.values(decidedElsewhere).flat())
  for (const { message, levels } of rows) {
    if (others.has(message) || domainMessages.includes(`'${message}'`)) continue
    const found = new Set(calls.filter((call) => call.message?.trimEnd() === message).map(({ level }) => level))
    t.same([...found].sort(), [...levels].sort(), message)
  }
})

t.test('the finder sees calls of every form', async (t) => {
  const text = `
    const WHAT = 'constant'
    log.info({ a, b: 1, ...c }, 'plain')
    this.deps.log.warn(isOne ? 'one' : 'two')
    gate.lines.error({ err }, WHAT)
    log.debug(\`begins \${here}\`)
    dialog.info('no logger')`
  t.same(findLogCalls({ path: 'src/x.ts', text }), [
    { path: 'src/x.ts', level: 'info', message: 'plain', fields: ['a', 'b'] },
    { path: 'src/x.ts', level: 'warn', message: 'one', fields: [] },
    { path: 'src/x.ts', level: 'warn', message: 'two', fields: [] },
    { path: 'src/x.ts', level: 'error', message: 'constant', fields: ['err'] },
    { path: 'src/x.ts', level: 'debug', message: 'begins ', fields: [] },
  ])
})

t.test('the page and the configuration name each component that has a level of its own', async (t) => {
  const [, listed = ''] = /The components are ([^.]*)\./.exec(page) ?? []
  t.same([...listed.matchAll(/`([a-z]+)`/g)].map(([, name]) => name).sort(), [...logRooms].sort(), 'docs/logs.md')
  const shipped = readFileSync('config/posthorn.toml', 'utf8').replaceAll('\n# ', ' ')
  t.match(shipped, `differ from it: ${logRooms.join(', ')}.`)
})
