/** Commands on domains, alone and beside the daemon. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  createInstallation,
  readAuditLog,
  setUpWorkspace,
  timestampPattern,
  uuidPattern,
} from '../../../helpers/cli/command-line.js'
import { messageText, runCommand, submitMessage, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { mutableZone } from '../../../helpers/dns/mutable-zone.js'

t.test('domains', async (t) => {
  const here = createInstallation(t)
  const { run, folder } = here
  await setUpWorkspace(run)
  const added = (await run('domain', 'add', 'Münster.Test', '--inbound', '--json')).json()
  t.match(added, {
    id: uuidPattern,
    domain: 'xn--mnster-3ya.test',
    status: 'pending',
    inbound: true,
    created_at: timestampPattern,
    verified_at: null,
    dns_records: [
      { type: 'CNAME', purpose: 'mail_cname', status: 'pending' },
      { name: 'dkim1._domainkey.xn--mnster-3ya.test' },
      { purpose: 'dkim2' },
    ],
    dkim_keys: [
      { selector: 'dkim1', txt: /^v=DKIM1/, signing: true },
      { selector: 'dkim2', signing: false },
    ],
  })
  t.match(await run('domain', 'add', 'münster.test'), { status: 1, err: /registered in this workspace already/ })
  for (const name of ['not a domain', 'exa_mple', 'exa_mple.test', 'localhost', 'a.1']) {
    const err = `posthorn: not a domain name: ${name}; allowed: a name such as example.com\n`
    t.match(await run('domain', 'add', name), { status: 1, err }, name)
  }
  t.match(await run('domain', 'add', `${`${'x'.repeat(60)}.`.repeat(4)}test`), { status: 1, err: /at most 195/ })
  t.match((await run('domain', 'verify', 'münster.test', '--force', '--json')).json(), {
    status: 'verified',
    verified_at: timestampPattern,
  })
  t.match(await run('domain', 'add', 'b.test', '--force'), {
    status: 0,
    out: /^b\.test {2}verified\n\nRequired, at the DNS provider of b\.test:\n.*\n {2}posthorn\.b\.test\. CNAME mail\./,
  })
  t.match((await run('domain', 'list', '--json')).json(), {
    data: [{ domain: 'xn--mnster-3ya.test' }, { domain: 'b.test', status: 'verified' }],
  })
  t.match(await run('domain', 'list'), { out: /^DOMAIN +STATUS +CREATED\n/ })

  t.match((await run('domain', 'inbound', 'b.test', 'on', '--json')).json(), { inbound: true, blocked_addresses: [] })
  t.match((await run('domain', 'block', 'b.test', 'Sold', 'a+b@b.test', 'sold@b.test', '--json')).json(), {
    inbound: true,
    blocked_addresses: ['a+b@b.test', 'sold@b.test'],
  })
  t.match(await run('domain', 'unblock', 'b.test', 'a+b', 'nobody'), {
    status: 0,
    out: /Receives mail\.\nBlocked:\n {2}sold@b\.test\nNo daemon runs here: it counts from the next start\.\n$/,
  })
  t.match(await run('domain', 'block', 'b.test', 'x@c.test'), { status: 1, err: /an address of b\.test/ })
  t.match(await run('domain', 'block', 'b.test', 'PostMaster'), { status: 1, err: /to its postmaster/ })
  t.match(await run('domain', 'block', 'c.test', 'x'), { status: 1, err: /not registered/ })
  t.match(await run('domain', 'add', 'pending.test', '--inbound'), {
    out: /posthorn domain verify pending\.test\n[\s\S]*\nReceives mail as soon as it is verified\.\nNo daemon runs here/,
  })
  t.match(await run('domain', 'add', 'lines.test', '--format', 'zone'), {
    status: 0,
    out: /^; DNS provider of lines\.test\nposthorn\.lines\.test\. 3600 IN CNAME mail\.service\.test\.\n[\s\S]*\n; lines\.test\. .*\n(?:;.*\n)*; DNS provider of service\.test\n(?:dkim[12].* IN TXT .*\n){2}$/,
  })
  t.match((await run('domain', 'add', 'values.test', '--format', 'json')).json(), {
    domain: 'values.test',
    records: [{ type: 'CNAME', required: true }],
  })
  await run('domain', 'delete', 'lines.test')
  await run('domain', 'delete', 'values.test')
  t.match(await run('domain', 'inbound', 'pending.test', 'on'), { status: 1, err: /pending\.test is not verified/ })
  await run('domain', 'delete', 'pending.test')

  const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const file = join(folder, 'key.pem')
  writeFileSync(file, pem)
  t.match((await run('domain', 'import-key', 'b.test', file, '--selector', 'old', '--json')).json(), {
    dkim_keys: [
      { signing: false },
      { signing: false },
      { selector: 'old', signing: true, name: 'old._domainkey.b.test' },
    ],
  })
  const words = ['domain', 'import-key', 'b.test', '-', '--selector', 'again', '--json', '--config', here.config]
  t.match((await runCommand(words, String(pem))).json(), { dkim_keys: { length: 4 } })
  t.match(await run('domain', 'import-key', 'b.test', file, '--selector', 'old'), { status: 0 })
  t.match(await run('domain', 'import-key', 'b.test', join(folder, 'absent')), { status: 1, err: /cannot be read/ })
  t.match(await run('domain', 'show', 'b.test'), {
    status: 0,
    out: /old\._domainkey\.b\.test\. TXT "v=DKIM1.*" {2}\(signs\)/,
  })
  t.match(await run('domain', 'show', 'c.test'), { status: 1, err: /c\.test is not registered/ })
  const { id } = (await run('domain', 'show', 'b.test', '--json')).json() as { id: string }
  t.match(await run('domain', 'delete', 'b.test', '--json'), {
    status: 1,
    err: /b\.test is verified: its DKIM keys are lost and its queued mail fails; add --yes to delete it/,
  })
  t.same((await run('domain', 'delete', 'b.test', '--yes', '--json')).json(), { deleted: true, id })
  t.match(await run('domain', 'delete', 'b.test'), { status: 1, err: /not registered/ })
  t.match((await readAuditLog(t, here)).slice(1), [
    ['domain.created', uuidPattern, { domain: 'xn--mnster-3ya.test', forced: false, inbound: true }],
    ['domain.verified', uuidPattern, { domain: 'xn--mnster-3ya.test', forced: true }],
    ['domain.created', id, { domain: 'b.test', forced: true }],
    ['domain.changed', id, { domain: 'b.test', inbound: true }],
    ['domain.changed', id, { domain: 'b.test', blocked: ['sold', 'a+b'] }],
    ['domain.changed', id, { domain: 'b.test', unblocked: ['a+b'] }],
    ['domain.created', uuidPattern, { domain: 'pending.test' }],
    ['domain.created', uuidPattern, { domain: 'lines.test' }],
    ['domain.created', uuidPattern, { domain: 'values.test' }],
    ['domain.deleted', uuidPattern, { domain: 'lines.test' }],
    ['domain.deleted', uuidPattern, { domain: 'values.test' }],
    ['domain.deleted', uuidPattern, { domain: 'pending.test' }],
    ['domain.key_imported', id, { domain: 'b.test', selector: 'old' }],
    ['domain.key_imported', id, { domain: 'b.test', selector: 'again' }],
    ['domain.key_imported', id, { domain: 'b.test', selector: 'old' }],
    ['domain.deleted', id, { domain: 'b.test' }],
  ])

  await run('workspace', 'create', 'Other', '--email', 'o@acme.test')
  const claim = await run('domain', 'add', 'münster.test', '--workspace', 'other')
  t.match(claim, { status: 1, err: /another workspace has verified/ })
})

t.test('a domain that is added while the daemon runs may send at once', async (t) => {
  const app = await testDaemon(t)
  const client = await app.openSession()
  t.match(await submitMessage(client, { from: 'x@new.test' }), /^550 5\.7\.1/)
  t.equal((await app.cli('domain', 'add', 'new.test', '--force', '--workspace', app.workspaceId)).status, 0)
  t.match(await submitMessage(client, { from: 'x@new.test', raw: messageText({ from: 'x@new.test' }) }), /^250/)
})

t.test('a domain that does not exist in DNS is registered with a warning', async (t) => {
  const zone = await mutableZone(t)
  zone.set('there.test', { A: ['127.0.0.1'] })
  zone.set('silent.test', 'SERVFAIL')
  const app = await testDaemon(t, { zone: 'dns.servers', settings: { dns: { servers: [zone.address] } } })
  const add = (...words: readonly string[]) => app.cli('domain', 'add', ...words, '--workspace', app.workspaceId)
  t.match(await add('exmaple.test', '--json'), {
    status: 0,
    err: 'posthorn: exmaple.test does not exist in DNS: is it spelt right? "posthorn domain delete exmaple.test" removes it\n',
  })
  for (const words of [['there.test'], ['silent.test'], ['closed.test', '--force']]) {
    t.match(await add(...words), { status: 0, err: '' }, words.join(' '))
  }
})
