/** Every row of the interface's tables, asked of the daemon as its document says. */
import t from 'tap'
import { bring, idOfReply, processed } from '../helpers/bring-mail.js'
import { apiKeys } from './rows/api-keys.js'
import { audiences } from './rows/audiences.js'
import { contacts } from './rows/contacts.js'
import { files, templates } from './rows/content.js'
import { domains } from './rows/domains.js'
import { emails } from './rows/emails.js'
import { general } from './rows/general.js'
import { inbound } from './rows/inbound.js'
import { suppressions } from './rows/suppressions.js'
import { prove } from './support/prove.js'
import { world } from './support/world.js'

/** Of domains whose owners publish all that they are told to, or some of it; of the last nobody can ask. */
const published = { proved: [0, 1, 2], keyless: [0], hostless: [1, 2], silent: null }
const zone = new Map<string, { readonly CNAME: string[] | 'failure' }>()
for (const [name, some] of Object.entries(published)) {
  for (const host of ['posthorn', 'dkim1._domainkey', 'dkim2._domainkey']) {
    zone.set(`${host}.${name}.test`, { CNAME: some === null ? 'failure' : [] })
  }
}

const one = await world(t, { zone: { 'gone.test': { mx: [[0, '']] }, ...Object.fromEntries(zone) } })
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
  const mail = idOfReply(await bring(t, app, { to: ['info@home.test'], raw: letter }))
  await processed(app, mail)
  one.kept.set('mail', mail)
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

interface Registered {
  readonly id: string
  readonly dns_records: readonly { readonly name: string; readonly value: string }[]
}
const missing = { name: '', value: '' }

for (const resource of [
  apiKeys,
  emails,
  templates,
  files,
  audiences,
  contacts,
  domains,
  suppressions,
  inbound,
  general,
]) {
  t.test(resource.name, (t) => prove(t, one, resource))
}

t.test('nothing of it was an error in the log', async (t) => {
  t.same(app.errors, [])
})
