/** The command line: what it says, in which form, with which exit status; alone and beside the daemon. */
import { spawn, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createPasswordHasher } from '../../src/accounts/people/passwords.js'
import type { Answer } from '../../src/cli/command.js'
import { withNotice } from '../../src/cli/daemon-notice.js'
import { databaseCommands } from '../../src/cli/run.js'
import { createChangeAcknowledger, readAnnouncedChange } from '../../src/storage/change-acknowledgement.js'
import { lockDataFolder } from '../../src/storage/data-lock.js'
import { openDatabase } from '../../src/storage/open.js'
import { createSelfSigned } from '../helpers/certificates.js'
import { temporaryFolder } from '../helpers/database.js'
import { plainNode } from '../helpers/plain-node.js'
import { openSink } from '../helpers/scripted-sink.js'
import {
  type CommandResult,
  messageText,
  runCommand,
  submitMessage,
  testDaemon,
  withOwnDatabase,
  writeConfiguration,
} from '../helpers/test-daemon.js'
import { waitUntil } from '../helpers/wait-until.js'

type Run = (...argv: readonly string[]) => Promise<CommandResult>

interface Place {
  readonly folder: string
  readonly data: string
  readonly config: string
  readonly run: Run
}

function place(t: Test): Place {
  const folder = temporaryFolder(t)
  const { file } = writeConfiguration(folder, {})
  const run: Run = (...argv) => runCommand([...argv, '--config', file])
  return { folder, data: join(folder, 'data'), config: file, run }
}

/** What the audit log holds, oldest first: the action, its target, its details. */
async function acts(
  t: Test,
  { data }: Place,
): Promise<readonly (readonly [action: string, target: string, details: unknown])[]> {
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const rows = database.read<Record<'actor' | 'action' | 'target' | 'details', string>>(
    'select * from audit_log order by seq',
    [],
  )
  t.ok(rows.every(({ actor }) => actor === 'operator'))
  return rows.map(({ action, target, details }) => [action, target, JSON.parse(details)])
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

interface Setup {
  readonly workspace_id: string
  readonly user_id: string
  readonly api_key: string
  readonly key_prefix: string
}

const setUp = async (run: Run): Promise<Setup> =>
  (await run('setup', '--workspace', 'Acme', '--email', 'o@acme.test', '--json')).json() as Setup

t.test('usage errors end with 2 and leave nothing behind', async (t) => {
  const { run, data } = place(t)
  const wrong: readonly (readonly [argv: readonly string[], says: RegExp])[] = [
    [['nonsense'], /unknown command: nonsense/],
    [['key'], /unknown command: key \(there are: key create, key list, key revoke\)\n/],
    [['key', 'destroy'], /unknown command: key destroy/],
    [['key', 'create', '--colour', 'red'], /^posthorn: unknown option: --colour\n/],
    [['-x'], /^posthorn: unknown option: -x\n/],
    [['--__proto__', 'check'], /^posthorn: unknown option: --__proto__\n/],
    [['check', '--json=yes'], /^posthorn: --json takes no value\n/],
    [['key', 'create'], /--name is missing/],
    [['key', 'create', '--name', ''], /--name is missing/],
    [['key', 'create', '--name', '--json'], /^posthorn: --name needs a value; one that .* is given as --name=VALUE\n/],
    [['key', 'create', '--name=-x', '--scopes', 'all'], /--scopes: found "all", allowed: full, send, read/],
    [['key', 'create', '--name', 'x', '--expires-at', '2020-01-01T00:00:00Z'], /--expires-at: found "2020-/],
    [['key', 'create', '--name', 'x', '--expires-at', '2099-02-30T00:00:00Z'], /--expires-at: found "2099-/],
    [['key', 'create', '--name', 'x', '--expires-at', 'tomorrow'], /--expires-at: found "tomorrow", allowed: a moment/],
    [['workspace', 'list', '--domain', 'a.test'], /--domain does not belong/],
    [['serve', '--force'], /--force does not belong/],
    [['check', '--force'], /--force does not belong/],
    [['check', 'more'], /unexpected: more/],
    [['serve', 'more'], /unexpected: more/],
    [['setup', '--email', 'o@acme.test'], /--workspace is missing/],
    [['setup', '--workspace', '', '--email', 'o@acme.test'], /--workspace is missing/],
    [['setup', 'Acme'], /unexpected: Acme/],
    [['setup', '--workspace'], /--workspace needs a value/],
    [['workspace', 'create', '--email', 'o@acme.test'], /NAME is missing/],
    [['workspace', 'create', 'two', 'words', '--email', 'o@acme.test'], /unexpected: words/],
    [['key', 'revoke'], /ID is missing/],
    [['domain', 'add'], /NAME is missing/],
    [['domain', 'add', 'a.test', 'b.test'], /unexpected: b\.test/],
    [['domain', 'import-key', 'a.test'], /FILE is missing/],
    [['domain', 'block'], /NAME is missing/],
    [['domain', 'block', 'a.test'], /ADDRESS is missing/],
    [['domain', 'inbound', 'a.test'], /on or off is missing/],
    [['domain', 'inbound', 'a.test', 'maybe'], /found maybe; allowed: on, off/],
    [['domain', 'inbound', 'a.test', 'on', 'off'], /unexpected: off/],
    [['explain'], /EMAIL_ID is missing/],
    [['send', '--from', 'a@a.test'], /--to is missing/],
    [['backup'], /FILE is missing/],
    [['verify-data', 'more'], /unexpected: more/],
    [['queue', 'show'], /ID is missing/],
    [['spam', 'learn', '--as', 'spam'], /DIR is missing/],
    [['spam', 'learn', '.'], /--as is missing/],
    [['spam', 'learn', '.', '--as', 'junk'], /--as: found "junk", allowed: spam, ham/],
    [['spam', 'learn', '.', 'more', '--as', 'spam'], /unexpected: more/],
  ]
  for (const [argv, says] of wrong) {
    const { status, out, err } = await run(...argv)
    t.equal(status, 2, argv.join(' '))
    t.equal(out, '', argv.join(' '))
    t.match(err, says, argv.join(' '))
    t.match(err, /"posthorn help" lists the commands, "posthorn help COMMAND" the options of one\n$/)
  }
  t.equal(existsSync(join(data, 'posthorn.db')), false)

  t.match(await run('queue', 'list', '--status', 'odd'), { status: 2, err: /--status: found "odd", allowed: queued, / })
  t.match(await run('queue', 'hold'), { status: 2, err: /say which/ })
  const help = await runCommand(['--help'])
  t.match(help, { status: 0, err: '' })
  for (const name of ['serve', 'check', 'setup', 'key create', 'queue delete', 'domain import-key', 'verify-data']) {
    t.match(help.out, new RegExp(`^  ${name}\\b`, 'm'), name)
  }
  t.match(await runCommand([]), { status: 2, out: help.out })
  t.equal((await runCommand(['help'])).out, help.out)
  t.equal((await runCommand(['-h'])).out, help.out)
  t.same((await runCommand(['help', '--json'])).json(), { help: help.out.trimEnd() })
})

t.test('each command has help of its own, with every option, and needs no configuration for it', async (t) => {
  const { version: packageVersion } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  for (const argv of [['version'], ['--version'], ['--version', '--config', '/nowhere']]) {
    t.match(await runCommand(argv), { status: 0, out: `posthorn ${packageVersion}\n`, err: '' })
  }
  t.match((await runCommand(['version', '--json'])).json(), { version: packageVersion, node: process.version })

  for (const { name, usage, summary, options } of databaseCommands) {
    const asked = await runCommand(['help', ...name.split(' ')])
    t.match(asked, { status: 0, err: '' }, name)
    t.ok(asked.out.includes(`posthorn ${`${name} ${usage}`.trim()}\n    ${summary}\n`), name)
    for (const option of Object.keys(options)) {
      t.match(asked.out, new RegExp(`^  --${option} +\\S`, 'm'), `${name} --${option}`)
      t.ok(usage.includes(`--${option}`), `the usage of ${name} names --${option}`)
    }
    t.equal((await runCommand([...name.split(' '), '--help', '--config', '/nowhere'])).out, asked.out)
  }
  for (const name of ['check', 'serve', 'version', 'help']) {
    if (name !== 'help')
      t.match(await runCommand([name, '--help']), { status: 0, out: new RegExp(`^posthorn ${name}\n`) })
    t.match(await runCommand(['help', name]), { status: 0, out: new RegExp(`^posthorn ${name}\\b`) })
  }
  t.match((await runCommand(['help', 'queue', 'list'])).out, /^ {2}--workspace +only entries of this workspace/m)
  const keys = (await runCommand(['key', '--help'])).out
  for (const name of ['key create', 'key list', 'key revoke']) t.match(keys, new RegExp(`^posthorn ${name} `, 'm'))
  t.match(await runCommand(['help', 'serve']), { status: 0, out: /^posthorn serve\n.*SIGHUP/ })
  t.match(await runCommand(['help', 'nonsense']), { status: 2, err: /unknown command: nonsense/ })
  t.match(await runCommand(['nonsense', '--help']), { status: 2, err: /unknown command: nonsense/ })
  t.match(await runCommand(['version', 'more']), { status: 2, err: /unexpected: more/ })
})

t.test('a configuration with problems stops every command, with all of them at once', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'posthorn.toml')
  writeFileSync(file, '[service]\nhostname = "a b"\ncolour = 1\n[outbound]\nport = "x"\n')
  for (const argv of [['check'], ['serve'], ['key', 'list']]) {
    const { status, out, err } = await runCommand([...argv, '--config', file])
    t.equal(status, 1)
    const said = argv[0] === 'check' ? out : err
    for (const key of ['service.hostname', 'service.colour', 'outbound.port'])
      t.ok(said.includes(`${file}: ${key}: `), key)
  }
  const json = await runCommand(['--json', 'check', '--config', file])
  t.equal(json.status, 1)
  t.match(json.json(), { ok: false, problems: [{ key: /./, message: /found .*; allowed: / }, {}, {}] })
  t.match(await runCommand(['check', '--config', join(folder, 'absent.toml')]), { status: 1, out: /cannot be read/ })
  const good = place(t)
  // Of ours: where there is none, root judges as the user of the unit, which this machine may have.
  mkdirSync(good.data)
  const { username: user } = userInfo()
  const said = `${good.config}: no problems\nchecked with the rights of the user ${user}\n`
  t.match(await good.run('check'), { status: 0, out: said })
  t.same((await good.run('check', '--json')).json(), { ok: true, problems: [], user })
  t.same(readdirSync(good.data), [], 'a check makes nothing')
  rmdirSync(good.data)
  writeFileSync(good.data, 'a file')
  t.match(await good.run('check'), { status: 1, out: /service\.data_dir: .* is not a directory/ })
})

t.test('the first workspace, before the daemon ever ran', async (t) => {
  const { run, data } = place(t)
  t.match(await run('domain', 'list'), { status: 1, err: /there is no workspace yet: run "posthorn setup" first/ })
  t.match(await run('setup', '--workspace', 'Acme', '--email', 'nonsense'), { status: 1, err: /not a mail address/ })
  t.match(await run('setup', '--workspace', 'x'.repeat(101), '--email', 'o@acme.test'), { status: 1, err: /100/ })
  const made = await setUp(run)
  t.match(made, { workspace_id: /^ws_/, user_id: uuid, api_key: /^ph_/ })
  t.ok(made.api_key.startsWith(made.key_prefix))
  t.equal(statSync(join(data, 'posthorn.db')).mode & 0o777, 0o600)
  t.equal(statSync(data).mode & 0o777, 0o700)
  t.match(await run('setup', '--workspace', 'B', '--email', 'o@acme.test'), {
    status: 1,
    err: /there is a workspace already/,
  })

  for (const name of ['x'.repeat(101), 'two\nlines']) {
    t.match(await run('workspace', 'create', name, '--email', 'o@acme.test'), { status: 1, err: /1 to 100 characters/ })
  }
  const shown = await run('workspace', 'create', 'Bravo Charlie', '--email', 'O@acme.test')
  t.match(shown, {
    status: 0,
    out: /^workspace {2}ws_\S+ {2}Bravo Charlie\nowner {6}\S+ {2}O@acme\.test\nAPI key {4}ph_/,
  })
  const list = (await run('--json', 'workspace', 'list')).json()
  t.match(list, {
    data: [{ id: made.workspace_id, name: 'Acme', slug: 'acme', created_at: moment }, { slug: 'bravo-charlie' }],
  })
  t.match(await run('workspace', 'list'), { out: /^ID +NAME +PLAN +CREATED +INBOUND +OPERATOR\nws_/ })
  t.match(await run('key', 'list'), { status: 1, err: /several workspaces, choose one with --workspace: ws_/ })
  t.equal((await run('key', 'list', '--workspace', 'bravo-charlie')).status, 0, 'a slug will do')
  t.match(await run('key', 'list', '--workspace', 'nobody'), { status: 1, err: /no such workspace: nobody/ })
  t.match(await run('queue', 'list', '--workspace', 'nobody'), { status: 1, err: /no such workspace/ })
})

t.test('keys are made, listed and revoked; options stand wherever they like', async (t) => {
  const here = place(t)
  const { run, config } = here
  const { workspace_id, user_id } = await setUp(run)
  const made = (
    await runCommand(['--json', '--config', config, 'key', '--name', 'app', 'create', '--scopes', 'send,read'])
  ).json()
  t.match(made, { id: uuid, name: 'app', key: /^ph_/, key_prefix: /^ph_/, created_at: moment })
  const { id, key, key_prefix } = made as { id: string; key: string; key_prefix: string }
  t.match(made, { scopes: ['send', 'read'], expires_at: null, allowed_networks: [], allowed_domains: [] })
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const shown = await run('key', 'create', '--name', 'brief', '--expires-at', soon)
  t.match(shown, { status: 0, out: /^key \S+ \(brief\)\nph_\S+\nIt is shown this once\.\n$/ })

  const listed = (await run('key', 'list', '--json')).json() as { data: Record<string, unknown>[] }
  t.match(listed.data, [
    { name: 'first key', scopes: ['full'] },
    { id, name: 'app', key_prefix, scopes: ['send', 'read'], last_used_at: null, revoked_at: null, expires_at: null },
    { name: 'brief', expires_at: soon },
  ])
  t.notOk(JSON.stringify(listed).includes(key))
  t.match(await run('key', 'revoke', id, '--json'), { status: 0, out: new RegExp(`^{"id":"${id}","revoked_at":"`) })
  t.match(await run('key', 'revoke', id), { status: 1, err: /no key .* could be revoked/, out: '' })
  const log = await acts(t, here)
  t.match(log, [
    ['workspace.created', workspace_id, { name: 'Acme', owner: user_id }],
    ['api_key.created', id, { name: 'app', key_prefix, scopes: ['send', 'read'] }],
    ['api_key.created', uuid, { name: 'brief', expires_at: soon }],
    ['api_key.revoked', id, {}],
  ])
  t.equal(log.length, 4, 'what failed is no act')
  t.notOk(JSON.stringify(log).includes(key))
  t.match(await run('key', 'list'), { out: new RegExp(`^${id} +app +${key_prefix} +- +2`, 'm') })
  const long = await run('key', 'create', '--name', 'x'.repeat(101))
  t.match(long, { status: 1, out: '', err: /name: 1 to 100 characters/ })
})

t.test('domains', async (t) => {
  const here = place(t)
  const { run, folder } = here
  await setUp(run)
  const added = (await run('domain', 'add', 'Münster.Test', '--inbound', '--json')).json()
  t.match(added, {
    id: uuid,
    domain: 'xn--mnster-3ya.test',
    status: 'pending',
    inbound: true,
    created_at: moment,
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
  t.match(await run('domain', 'add', 'not a domain'), { status: 1, err: /not a domain name/ })
  t.match(await run('domain', 'add', `${`${'x'.repeat(60)}.`.repeat(4)}test`), { status: 1, err: /may have 195/ })
  t.match((await run('domain', 'verify', 'münster.test', '--force', '--json')).json(), {
    status: 'verified',
    verified_at: moment,
  })
  t.match(await run('domain', 'add', 'b.test', '--force'), {
    status: 0,
    out: /^b\.test {2}verified\n\nDNS records to publish:\n {2}posthorn\.b\.test\. CNAME mail\./,
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
    out: /Takes mail in\.\nBlocked:\n {2}sold@b\.test\nNo daemon runs here: it counts from the next start\.\n$/,
  })
  t.match(await run('domain', 'block', 'b.test', 'x@c.test'), { status: 1, err: /an address of b\.test/ })
  t.match(await run('domain', 'block', 'b.test', 'PostMaster'), { status: 1, err: /to its postmaster/ })
  t.match(await run('domain', 'block', 'c.test', 'x'), { status: 1, err: /not registered/ })
  t.match(await run('domain', 'add', 'pending.test', '--inbound'), {
    out: /\nTakes mail in as soon as it is verified\.\nNo daemon runs here/,
  })
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
  t.match(await run('domain', 'import-key', 'b.test', join(folder, 'absent')), { status: 1, err: /cannot be read/ })
  t.match(await run('domain', 'show', 'b.test'), {
    status: 0,
    out: /old\._domainkey\.b\.test\. TXT "v=DKIM1.*" {2}\(signs\)/,
  })
  t.match(await run('domain', 'show', 'c.test'), { status: 1, err: /c\.test is not registered/ })
  const { id } = (await run('domain', 'show', 'b.test', '--json')).json() as { id: string }
  t.same((await run('domain', 'delete', 'b.test', '--json')).json(), { deleted: true, id })
  t.match(await run('domain', 'delete', 'b.test'), { status: 1, err: /not registered/ })
  t.match((await acts(t, here)).slice(1), [
    ['domain.created', uuid, { domain: 'xn--mnster-3ya.test', forced: false, inbound: true }],
    ['domain.verified', uuid, { domain: 'xn--mnster-3ya.test', forced: true }],
    ['domain.created', id, { domain: 'b.test', forced: true }],
    ['domain.changed', id, { domain: 'b.test', inbound: true }],
    ['domain.changed', id, { domain: 'b.test', blocked: ['sold', 'a+b'] }],
    ['domain.changed', id, { domain: 'b.test', unblocked: ['a+b'] }],
    ['domain.created', uuid, { domain: 'pending.test' }],
    ['domain.deleted', uuid, { domain: 'pending.test' }],
    ['domain.key_imported', id, { domain: 'b.test', selector: 'old' }],
    ['domain.deleted', id, { domain: 'b.test' }],
  ])

  await run('workspace', 'create', 'Other', '--email', 'o@acme.test')
  const claim = await run('domain', 'add', 'münster.test', '--workspace', 'other')
  t.match(claim, { status: 1, err: /another workspace has verified/ })
})

t.test('the database is saved, put back and checked', async (t) => {
  const { run, folder, data } = place(t)
  const file = join(folder, 'saved.db')
  t.match(await run('backup', file), { status: 1, err: /there is no database/ })
  t.match(await run('verify-data'), { status: 1, err: /there is no database/ })
  await setUp(run)
  t.same((await run('backup', file, '--json')).json(), { file })
  t.match(await run('backup', file), { status: 1, err: /./, out: '' }, 'never over a file')
  t.equal((await run('backup', '-')).out.slice(0, 15), 'SQLite format 3')
  t.match(await run('backup', '-', '--json'), { status: 2, out: '' })
  const left = readdirSync(data).filter((name) => name.includes('backup'))
  t.same(left, [], 'nothing is left beside the database')
  t.match(await run('verify-data'), { status: 0, out: 'no problems\n' })
  t.same((await run('verify-data', '--json')).json(), { ok: true, problems: [] })
  await run('workspace', 'create', 'Other', '--email', 'o@acme.test')
  t.match((await run('restore', file, '--json')).json(), { restored: true, aside: new RegExp(`^${data}`) })
  t.match((await run('workspace', 'list', '--json')).json(), { data: [{ name: 'Acme' }] })
  writeFileSync(join(folder, 'junk'), 'no database')
  t.match(await run('restore', join(folder, 'junk')), { status: 1, out: '' })
  t.match(await run('restore', join(folder, 'absent')), { status: 1, out: '' })

  await run('domain', 'add', 'a.test', '--force')
  const sent = await run('send', '--from', 'app@a.test', '--to', 'bob@b.test')
  t.match(sent, {
    status: 1,
    out: /\n\nno daemon runs here: it is sent when one starts; "posthorn explain \S+" tells more later\n$/,
  })
})

t.test('beside the daemon: send tells what became of it, explain tells it again', async (t) => {
  const sink = await openSink({
    script: {
      rcpt: ({ line }) => {
        if (line.includes('<later')) return '450 4.2.0 try later'
        return line.includes('<bad') ? '550 5.1.1 no such user' : '250 2.1.5 ok'
      },
    },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const sent = await app.cli('send', '--from', 'app@a.test', '--to', 'bob@b.test', '--subject', 'Grüße', '--json')
  t.equal(sent.status, 0, sent.err)
  const story = sent.json() as { id: string }
  t.match(story, {
    id: uuid,
    from: 'app@a.test',
    to: ['bob@b.test'],
    subject: 'Grüße',
    html: null,
    text: /^This message was sent by "posthorn send"/,
    headers: {},
    tags: [],
    attachments: [],
    template_id: null,
    status: 'delivered',
    opened_at: null,
    clicked_at: null,
    recipients: [
      { email: 'bob@b.test', status: 'delivered', attempts: [{ number: 1, outcome: 'delivered', tls: null }] },
    ],
  })
  t.match(sink.messages[0]?.raw.toString(), /^Received: by mail\.service\.test with local id /m)
  t.same((await app.cli('explain', story.id, '--json')).json(), story)
  const two = { to: ['one@b.test', 'later@b.test'] }
  const both = await app.submitAccepted(two)
  await app.waitUntilAttempted(both)
  const [listed] = ((await app.cli('queue', 'list', '--json')).json() as { data: { id: string }[] }).data
  const ofOne = await app.cli('explain', listed?.id ?? '')
  t.match(ofOne, { status: 0, out: new RegExp(`^${both} `) }, 'by the id of the queue')
  t.match(ofOne.out, /to later@b\.test: queued/)
  t.notMatch(ofOne.out, /to one@b\.test/, 'of that recipient alone')
  t.match((await app.cli('explain', listed?.id ?? '', '--json')).json(), {
    id: both,
    to: two.to,
    recipients: [{ id: listed?.id, email: 'later@b.test' }],
  })
  t.match(await app.cli('explain', story.id), {
    status: 0,
    out: /to bob@b\.test: delivered\n {4}1\. \S+ {2}mx\.b\.test \[127\.0\.0\.1\] without TLS, \d+ ms\n {7}delivered: 250/,
  })
  t.match(await app.cli('explain', story.id, '--transcript'), {
    out: /last session for bob@b\.test:\n[\s\S]*MAIL FROM/,
  })
  t.match(await app.cli('send', '--from', 'app@a.test', '--to', 'bad@b.test'), {
    status: 1,
    out: /bounced \(bad-mailbox\): 550 5\.1\.1 no such user/,
  })
  t.match(await app.cli('send', '--from', 'app@a.test', '--to', 'bad@b.test'), { status: 1, err: /suppression list/ })
  t.match(await app.cli('send', '--from', 'x@stranger.test', '--to', 'b@b.test'), {
    status: 1,
    err: /not a verified domain/,
  })
  t.match(await app.cli('send', '--from', 'nobody', '--to', 'b@b.test'), { status: 1, err: /not a mail address/ })
  t.match(await app.cli('explain', 'nothing'), { status: 1, err: /no email and no queue entry nothing/ })
  const deferred = await app.cli('send', '--from', 'app@a.test', '--to', 'later@b.test')
  t.match(deferred, {
    status: 1,
    out: /deferred \(\S+\): 450 4\.2\.0 try later\n {4}next attempt \S+Z\n\nnot delivered yet, and tried again .* "posthorn explain \S+" tells more later\n$/,
  })
  t.same(
    await withOwnDatabase(app, async ({ read }) => read(`select 1 from emails where source = 'service'`, [])),
    [],
    'it asks for no report',
  )
  t.match(await app.cli('restore', app.configFile), { status: 1, err: /holds the data folder/ })
  t.match(await app.cli('queue', 'list', '--domain', 'c.test'), {
    status: 0,
    out: /^ID +RECIPIENT +STATUS .*\n0 in the queue\n$/,
  })
})

t.test('a domain that is added while the daemon runs may send at once', async (t) => {
  const app = await testDaemon(t)
  const client = await app.openSession()
  t.match(await submitMessage(client, { from: 'x@new.test' }), /^550 5\.7\.1/)
  t.equal((await app.cli('domain', 'add', 'new.test', '--force', '--workspace', app.workspaceId)).status, 0)
  t.match(await submitMessage(client, { from: 'x@new.test', raw: messageText({ from: 'x@new.test' }) }), /^250/)
})

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const program = (...argv: readonly string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync('env', plainNode(main, ...argv), { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } })

/** A folder of files by their names. */
function folderOf(t: Test, files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder(t)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

const letter = (text: string): string => `From: bob@b.test\nSubject: ${text}\n\n${text}\n`

t.test('the spam classifier learns from files while the daemon runs', async (t) => {
  const app = await testDaemon(t)
  const run: Run = (...argv) => app.cli(...argv)
  const own = ['--workspace', app.workspaceId] as const
  const files = folderOf(t, {
    'one.eml': letter('cheap watches'),
    'same.eml': letter('cheap watches'),
    'two.eml': `From bob@b.test Mon Jan  5 12:00:00 2026\n${letter('cheaper watches')}`,
    'picture.png': '\x89PNG no message',
    'empty.eml': '',
    passwd: 'root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n',
    '.hidden': letter('hidden'),
    'folder/three.eml': letter('not taken'),
  })
  t.match(await run('spam', 'learn', files, '--as', 'spam'), { status: 1, err: /there are several workspaces/ })
  const first = await run('spam', 'learn', files, '--as', 'spam', ...own, '--json')
  t.equal(first.status, 1, 'what could not be read is told by the status too')
  t.same(first.json(), {
    learned: 2,
    known: 1,
    unreadable: 3,
    unreadable_files: ['empty.eml', 'passwd', 'picture.png'].map((name) => join(files, name)),
  })
  const again = await run('spam', 'learn', files, '--as', 'spam', ...own)
  t.equal(
    again.out,
    `0 learned\n3 known already\n3 unreadable:\n  ${files}/empty.eml\n  ${files}/passwd\n  ${files}/picture.png\n`,
  )
  const counts = 'select verdict, count from bayes_messages where workspace_id = ? and count > 0'
  t.same(app.rows(counts, app.workspaceId), [{ verdict: 'spam', count: 2 }])
  t.same(app.rows(counts, app.otherWorkspaceId), [])

  const maildir = folderOf(t, {
    'cur/1.a:2,S': letter('cheap watches'),
    'new/2.a': letter('minutes of the board'),
    'tmp/3.a': letter('half written'),
    'dovecot-uidlist': '3 V1 N3',
  })
  const ham = await run('spam', 'learn', maildir, '--as', 'ham', ...own)
  t.match(ham, { status: 0, out: '2 learned\n' })
  t.same(
    app.rows(`${counts} order by verdict`, app.workspaceId),
    [
      { verdict: 'ham', count: 2 },
      { verdict: 'spam', count: 1 },
    ],
    'what was spam before is ham now',
  )
  t.match(await run('spam', 'learn', folderOf(t, {}), '--as', 'ham', ...own), { status: 1, err: /no files in/ })
  t.match(await run('spam', 'learn', join(files, 'nowhere'), '--as', 'ham', ...own), {
    status: 1,
    err: /DIR: found .*nowhere; allowed: a folder/,
  })
  const file = join(files, 'one.eml')
  t.match(await run('spam', 'learn', file, '--as', 'ham', ...own), { status: 1, err: /one\.eml; allowed: a folder/ })
  t.same(app.errors, [])
})

t.test('the program itself', async (t) => {
  const { config } = place(t)
  const made = program('setup', '--workspace', 'Acme', '--email', 'o@acme.test', '--json', '--config', config)
  t.match(made, { status: 0, stderr: '' })
  t.match(JSON.parse(made.stdout), { workspace_id: /^ws_/ })
  t.match(program('nonsense', '--config', config), { status: 2, stdout: '' })
  t.match(program('explain', 'nothing', '--config', config), { status: 1, stdout: '' })
})

t.test('a reader that has seen enough is no fault', async (t) => {
  const { config } = place(t)
  const child = spawn(process.execPath, [main, '--help', '--config', config], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const said = text(child.stderr)
  const [status] = (await once(child, 'close')) as [number]
  t.equal(await said, '')
  t.equal(status, 0)
})

t.test('what others wrote does not steer the terminal', async (t) => {
  const { run } = place(t)
  await setUp(run)
  t.match(await run('key', 'create', '--name', 'a\u001b[31mb\u0007'), {
    status: 0,
    out: /^key \S+ \(a\?\[31mb\?\)\nph_/,
  })
})

const root = process.getuid?.() === 0
const nobody = 65_534

t.test('started as root it works as the owner of the data folder', { skip: !root && 'not root' }, async (t) => {
  const { config, data, folder } = place(t)
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, nobody, nobody)
  chmodSync(folder, 0o755)
  t.match(program('setup', '--workspace', 'Acme', '--email', 'o@acme.test', '--config', config), {
    status: 0,
    stderr: '',
  })
  const { uid, gid } = statSync(join(data, 'posthorn.db'))
  t.same([uid, gid], [nobody, nobody])
  t.ok(readFileSync(config, 'utf8').length > 0)
})

t.test(
  'a check by root judges with the rights of the daemon, and says whose',
  { skip: !root && 'not root' },
  async (t) => {
    const { config, data, folder } = place(t)
    const { cert, key } = await createSelfSigned(['localhost'])
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key, { mode: 0o600 })
    writeFileSync(
      config,
      `${readFileSync(config, 'utf8')}\n[tls]\ncert_file = "${certFile}"\nkey_file = "${keyFile}"\n`,
    )
    mkdirSync(data, { mode: 0o700 })
    chmodSync(folder, 0o755)
    t.match(program('check', '--config', config), { status: 0, stdout: /no problems\nchecked .* of the user root\n$/ })

    chownSync(data, nobody, nobody)
    const refused = program('check', '--config', config)
    t.match(refused, { status: 1, stdout: /: tls: EACCES.*key\.pem.*\nchecked with the rights of the user nobody\n$/ })
    chmodSync(keyFile, 0o644)
    t.match(program('check', '--config', config), { status: 0, stdout: /no problems/ })
    chmodSync(config, 0o600)
    t.match(program('check', '--config', config), { status: 1, stdout: /cannot be read: EACCES.*\n.* user nobody\n$/ })
    t.match(program('key', 'list', '--config', config).status, 1)
    chmodSync(config, 0o644)
    chmodSync(data, 0o500)
    t.match(program('check', '--config', config), { status: 1, stdout: /service\.data_dir: EACCES/ })
    chmodSync(data, 0o700)
    chmodSync(folder, 0o750)
    const hidden = readFileSync(config, 'utf8')
    const reachable = join(temporaryFolder(t), 'posthorn.toml')
    chmodSync(dirname(reachable), 0o755)
    writeFileSync(reachable, hidden.replace(/^\[tls\][^[]*/m, ''))
    t.match(program('check', '--config', reachable), { status: 1, stdout: /service\.data_dir: EACCES/ }, 'not absent')
    chmodSync(folder, 0o755)
    t.match(program('setup', '--workspace', 'A', '--email', 'o@acme.test', '--config', config), { status: 0 })
    const database = join(data, 'posthorn.db')
    chownSync(database, 0, 0)
    const copied = program('check', '--config', config)
    t.match(copied, { status: 1, stdout: /service\.data_dir: EACCES.*posthorn\.db'\n.* user nobody\n$/ })
    const unread = program('key', 'list', '--config', config)
    t.match(unread, { status: 1, stderr: /\(SQLITE_CANTOPEN\), as the user nobody: "posthorn check" says more\n$/ })
    chownSync(database, nobody, nobody)
    const elsewhere = program('backup', join(folder, 'saved.db'), '--config', config)
    t.match(elsewhere, { status: 1, stderr: /EACCES.*not permitted for the user nobody\n$/ })
  },
)

t.test('a workspace is transferred to one of its members, and to nobody else', async (t) => {
  const { run, data } = place(t)
  const { workspace_id: id, user_id: first } = await setUp(run)
  const other = await run('workspace', 'create', 'Other', '--email', 'second@acme.test', '--json')
  const { user_id: second } = other.json() as Setup
  t.match(await run('workspace', 'transfer', id), { status: 2, err: /EMAIL is missing/ })
  t.match(await run('workspace', 'transfer', id, 'second@acme.test'), { status: 1, err: /no member/ })
  t.match(await run('workspace', 'transfer', id, 'o@acme.test'), { status: 1, err: /owns .* already/ })
  t.match(await run('workspace', 'transfer', 'ws_none', 'o@acme.test'), { status: 1, err: /no such workspace/ })
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const member = 'insert into members (id, workspace_id, user_id, role, joined_at) values (?, ?, ?, ?, 1)'
  await database.commit([{ sql: member, parameters: ['m', id, second, 'member'] }])
  const done = await run('workspace', 'transfer', id, 'SECOND@acme.test', '--json')
  t.same(done.json(), { workspace_id: id, owner_id: second, former_owner_id: first })
  t.same(database.read('select user_id, role from members where workspace_id = ? order by role', [id]), [
    { user_id: first, role: 'admin' },
    { user_id: second, role: 'owner' },
  ])
  const listed = (await run('user', 'list', '--json')).json()
  t.match(listed, {
    data: [
      { email: 'o@acme.test', has_password: false, workspaces: [{ id, role: 'admin' }] },
      { email: 'second@acme.test', workspaces: [{}, {}] },
    ],
  })
})

t.test('a password comes from standard input, and is not an argument', async (t) => {
  const { run, config, data } = place(t)
  await setUp(run)
  const set = async (email: string, input: string): Promise<{ status: unknown; err: string }> => {
    const child = spawn('env', plainNode(main, 'user', 'set-password', email, '--config', config))
    const closed = once(child, 'close')
    child.stdin.end(input)
    const err = await text(child.stderr)
    return { status: (await closed)[0], err }
  }
  t.match(await run('user', 'set-password', 'o@acme.test', 'secret'), { status: 2, err: /unexpected: secret/ })
  t.match(await set('o@acme.test', 'short\n'), { status: 1, err: /at least 8/ })
  t.match(await set('x@acme.test', 'correct horse battery\n'), { status: 1, err: /no such user/ })
  t.same(await set('O@acme.test', 'correct horse battery\nmore\n'), { status: 0, err: '' })
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const [user] = database.read<{ password_hash: string }>('select password_hash from users', [])
  t.equal(await createPasswordHasher().matches('correct horse battery', user?.password_hash ?? null), true)
  t.match(database.read('select action from audit_log order by seq desc limit 1', []), [
    { action: 'user.password_set' },
  ])
})

t.test('a command says whether the daemon has taken note of what it changed', async (t) => {
  const { run, data } = place(t)
  await setUp(run)
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const answer: Answer = { json: null, lines: ['done'] }
  const told = async (): Promise<Answer> => {
    const { database: asked, afterNotice } = withNotice(database, data, 100)
    t.same(await afterNotice(answer), answer, 'nothing was changed')
    await asked.commit([])
    return afterNotice(answer)
  }
  t.same((await told()).lines, ['done', 'No daemon runs here: it counts from the next start.'])
  const lock = lockDataFolder(data)
  t.teardown(() => lock.release())
  t.match(await told(), { failed: true, lines: ['done'], warnings: [/has not taken note/] }, 'it is held, and silent')
  const again = told()
  const notice = createChangeAcknowledger({ database, log: { error: () => t.fail() }, forget: () => undefined })
  await waitUntil('it is asked for', () => readAnnouncedChange(database.read) === 3)
  notice()
  t.same(await again, answer)
})
