/** Every row of the interface's tables, requested from the daemon as its document says. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { codeIn, openSmsGateway, smsSettings } from '../helpers/http/sms-gateway.js'
import { deliverInbound, idOfReply, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { beyond, rows, toCome } from './document.js'
import { apiKeys } from './rows/api-keys.js'
import { audiences } from './rows/audiences.js'
import { broadcasts } from './rows/broadcasts.js'
import { contacts } from './rows/contacts.js'
import { files, templates } from './rows/content.js'
import { domains } from './rows/domains.js'
import { emails } from './rows/emails.js'
import { events } from './rows/events.js'
import { exports } from './rows/exports.js'
import { general } from './rows/general.js'
import { inbound } from './rows/inbound.js'
import { members } from './rows/members.js'
import { metrics } from './rows/metrics.js'
import { sms } from './rows/sms.js'
import { suppressions } from './rows/suppressions.js'
import { tracking } from './rows/tracking.js'
import { webhooks } from './rows/webhooks.js'
import { workspaces } from './rows/workspaces.js'
import { statusOfCode } from './support/errors.js'
import { prove, proveCase } from './support/prove.js'
import { createWorld } from './support/world.js'

/** Domains whose records are published completely, in part, or (the last one) cannot be looked up. */
const published = { proved: [0, 1, 2], keyless: [0], hostless: [1, 2], silent: null }
const zone = new Map<string, { readonly CNAME: string[] | 'failure' }>()
for (const [name, some] of Object.entries(published)) {
  for (const host of ['posthorn', 'dkim1._domainkey', 'dkim2._domainkey']) {
    zone.set(`${host}.${name}.test`, { CNAME: some === null ? 'failure' : [] })
  }
}

const hosts = { 'gone.test': { mx: [[0, '']] }, 'inside.test': { addresses: ['10.1.2.3'] } } as const
const gateway = await openSmsGateway(t, ({ to, body }) => keepCode(to.slice(1), codeIn(body) ?? ''))
const one = await createWorld(t, {
  zone: { ...hosts, ...Object.fromEntries(zone) },
  settings: { sms: smsSettings(gateway) },
})
const { app } = one

const letter = [
  ...['From: Ann <ann@b.test>', 'To: info@home.test', 'Subject: hello', 'Message-ID: <1@b.test>'],
  ...['Date: Sat, 21 Nov 2026 12:00:00 +0000', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=x', ''],
  ...['--x', 'Content-Type: text/html', '', '<p>How do you do?</p>'],
  ...['--x', 'Content-Type: application/pdf', 'Content-Disposition: attachment; filename="a.pdf"', '', 'pdf'],
  ...[
    '--x',
    'Content-Type: image/png; name=l.png',
    'Content-Disposition: inline',
    'Content-ID: <logo@b.test>',
    '',
    'png',
  ],
  ...['--x--', ''],
].join('\r\n')

t.before(async () => {
  const added = await app.cli(
    'domain',
    'add',
    'home.test',
    '--inbound',
    '--force',
    '--workspace',
    app.workspaceId,
    '--json',
  )
  if (added.status !== 0) throw new Error(added.err)
  one.kept.set('verified', (added.json() as { readonly id: string }).id)
  const mail = idOfReply(await deliverInbound(t, app, { to: ['info@home.test'], raw: letter }))
  await waitUntilProcessed(app, mail)
  one.kept.set('mail', mail)
  await sendTracked()
  for (const [name, some] of Object.entries(published)) {
    const answer = await app.rest('POST', '/v1/domains', { body: { domain: `${name}.test` } })
    const { id, dns_records: records } = answer.json<Registered>()
    one.kept.set(name, id)
    for (const { name: host, value } of some?.map((at) => records[at] ?? missing) ?? []) {
      const { CNAME = 'failure' } = zone.get(host) ?? {}
      if (CNAME !== 'failure') CNAME.push(value)
    }
  }
})

/** The codes that the gateway was sent, by the digits of the number. */
function keepCode(digits: string, code: string): void {
  const { kept } = one
  kept.set(`old_code_${digits}`, kept.get(`code_${digits}`) ?? '')
  kept.set(`code_${digits}`, code)
}

/** An email that was delivered some seconds ago, and its link. */
async function sendTracked(): Promise<void> {
  const html = '<a href="https://example.com/spring?a=1&amp;b=2">spring</a>'
  const body = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', html }
  const { id } = (await app.rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>()
  await app.waitUntilSettled(id)
  app.advance(3_000)
  one.kept.set('tracked', id)
  one.kept.set('link', (await app.rows<{ id: string }>('select id from links where email_id = ?', id))[0]?.id ?? '')
}

interface Registered {
  readonly id: string
  readonly dns_records: readonly { readonly name: string; readonly value: string }[]
}
const missing = { name: '', value: '' }

const resources = [
  ...[
    apiKeys,
    emails,
    templates,
    files,
    audiences,
    contacts,
    domains,
    suppressions,
    inbound,
    tracking,
    metrics,
    events,
    webhooks,
    broadcasts,
    exports,
    sms,
    general,
  ],
  // Last, because this ends keys and workspaces.
  ...[workspaces, members],
]
for (const resource of resources) t.test(resource.name, (t) => prove(t, one, resource))

t.test('every row of the document is tested here or not implemented yet', async (t) => {
  const proved = new Set(resources.flatMap((resource) => resource.rows.map(({ row }) => row)))
  const all = Object.values(rows).flat()
  t.same(
    all.filter((row) => proved.has(row) === toCome.includes(row)),
    [],
  )
  const routes = app.daemon.routes.map(({ method, path }) => `${method} /v1${path}`)
  t.same(
    routes.filter((route) => !proved.has(route) && !beyond.includes(route)),
    [],
    'and so is every route',
  )
  t.same(
    beyond.filter((route) => !routes.includes(route)),
    [],
  )
  for (const row of toCome) {
    await proveCase(t, one, row, { says: `${row} is not there yet`, id: 'x', refused: { code: 'not_found' } })
  }
  const words = readFileSync('docs/interface.md', 'utf8')
  t.same(
    [...all, ...beyond].filter((row) => !words.includes(`\`${row}\``)),
    [],
    'docs/interface.md tells of each',
  )
  t.same(
    Object.keys(statusOfCode).filter((code) => !words.includes(`\`${code}\``)),
    [],
    'and of each code',
  )
})

t.test('no request logged an error', async (t) => {
  t.same(app.errors, [])
})
