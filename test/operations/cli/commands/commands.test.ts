/** Commands on workspaces, keys, users and the database, without the daemon. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { openDatabase } from '../../../../src/base/storage/open.js'
import { run as runProgram } from '../../../../src/operations/cli/run.js'
import { createPasswordHasher } from '../../../../src/workspaces/accounts/people/passwords.js'
import {
  createInstallation,
  programFile,
  readAuditLog,
  type SetupOutput,
  setUpWorkspace,
  timestampPattern,
  uuidPattern,
} from '../../../helpers/cli/command-line.js'
import { runCommand } from '../../../helpers/daemon/test-daemon.js'
import { plainNode } from '../../../helpers/programs/plain-node.js'

t.test('the first workspace is created before the daemon ever ran', async (t) => {
  const { run, data } = createInstallation(t)
  t.match(await run('domain', 'list'), { status: 1, err: /there is no workspace yet: run "posthorn setup" first/ })
  t.match(await run('setup', '--workspace', 'Acme', '--email', 'nonsense'), { status: 1, err: /not a mail address/ })
  t.match(await run('setup', '--workspace', 'x'.repeat(101), '--email', 'o@acme.test'), { status: 1, err: /100/ })
  const made = await setUpWorkspace(run)
  t.match(made, { workspace_id: /^ws_/, user_id: uuidPattern, api_key: /^ph_/ })
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
    data: [
      { id: made.workspace_id, name: 'Acme', slug: 'acme', created_at: timestampPattern },
      { slug: 'bravo-charlie' },
    ],
  })
  t.match(await run('workspace', 'list'), { out: /^ID +NAME +PLAN +CREATED +INBOUND +OPERATOR\nws_/ })
  t.match(await run('key', 'list'), { status: 1, err: /several workspaces, choose one with --workspace: ws_/ })
  t.equal((await run('key', 'list', '--workspace', 'bravo-charlie')).status, 0, 'a slug will do')
  t.equal((await run('key', 'list', '--workspace', 'Bravo Charlie')).status, 0, 'a name will do too')
  t.match(await run('key', 'list', '--workspace', 'nobody'), {
    status: 1,
    err: /no such workspace: nobody; "posthorn workspace list" shows the ids/,
  })
  t.match(await run('queue', 'list', '--workspace', 'nobody'), { status: 1, err: /no such workspace/ })
})

t.test('keys are created, listed and revoked; options may stand anywhere', async (t) => {
  const here = createInstallation(t)
  const { run, config } = here
  const { workspace_id, user_id } = await setUpWorkspace(run)
  const made = (
    await runCommand(['--json', '--config', config, 'key', '--name', 'app', 'create', '--scopes', 'send,read'])
  ).json()
  t.match(made, { id: uuidPattern, name: 'app', key: /^ph_/, key_prefix: /^ph_/, created_at: timestampPattern })
  const { id, key, key_prefix } = made as { id: string; key: string; key_prefix: string }
  t.match(made, { scopes: ['send', 'read'], expires_at: null, allowed_networks: [], allowed_domains: [] })
  const options = ['--domains', 'A.test, b.test', '--networks=192.0.2.7,2001:db8::/32']
  t.match((await run('key', 'create', '--name', 'narrow', ...options, '--json')).json(), {
    allowed_domains: ['a.test', 'b.test'],
    allowed_networks: ['192.0.2.7/32', '2001:db8::/32'],
  })
  for (const wrong of ['--domains=a b', '--domains=a.test,', '--networks=192.0.2.0/33', '--networks=home']) {
    const [name, value = ''] = wrong.split('=')
    t.match(await run('key', 'create', '--name', 'wrong', wrong), {
      status: 2,
      err: `${name}: found "${value.split(',').at(-1)}", allowed: `,
    })
  }
  const many = Array.from({ length: 51 }, (_, n) => `d${n}.test`).join(',')
  t.match(await run('key', 'create', '--name', 'wide', '--domains', many), {
    status: 2,
    err: /found 51, allowed: at most/,
  })
  t.match(await run('key', 'create', '--name', 'host', '--sender', 'host1'), { status: 2, err: /--sender: found/ })
  t.match(await run('key', 'create', '--name', 'host', '--sender', 'host1@a.test'), {
    status: 1,
    err: /not a verified/,
  })
  await run('domain', 'add', 'a.test')
  await run('domain', 'verify', 'a.test', '--force')
  const host = await run('key', 'create', '--name', 'host', '--sender', 'host1@a.test', '--json')
  t.match(host.json(), { sender: 'host1@a.test' })
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const shown = await run('key', 'create', '--name', 'brief', '--expires-at', soon)
  t.match(shown, { status: 0, out: /^key \S+ \(brief\)\nph_\S+\nIt is shown this once\.\n$/ })

  const listed = (await run('key', 'list', '--json')).json() as { data: Record<string, unknown>[] }
  t.match(listed.data, [
    { name: 'first key', scopes: ['full'] },
    { id, name: 'app', key_prefix, scopes: ['send', 'read'], last_used_at: null, revoked_at: null, expires_at: null },
    { name: 'narrow', allowed_domains: ['a.test', 'b.test'] },
    { name: 'host', sender: 'host1@a.test' },
    { name: 'brief', expires_at: soon },
  ])
  t.notOk(JSON.stringify(listed).includes(key))
  t.match(await run('key', 'revoke', id, '--json'), { status: 0, out: new RegExp(`^{"id":"${id}","revoked_at":"`) })
  t.match(await run('key', 'revoke', id), { status: 1, err: /no key .* could be revoked/, out: '' })
  const log = await readAuditLog(t, here)
  t.match(log, [
    ['workspace.created', workspace_id, { name: 'Acme', owner: user_id }],
    ['api_key.created', id, { name: 'app', key_prefix, scopes: ['send', 'read'] }],
    ['api_key.created', uuidPattern, { name: 'narrow', allowed_networks: ['192.0.2.7/32', '2001:db8::/32'] }],
    ['domain.created', uuidPattern, {}],
    ['domain.verified', uuidPattern, {}],
    ['api_key.created', uuidPattern, { name: 'host', sender: 'host1@a.test' }],
    ['api_key.created', uuidPattern, { name: 'brief', expires_at: soon }],
    ['api_key.revoked', id, {}],
  ])
  t.equal(log.length, 8, 'what failed is no act')
  t.notOk(JSON.stringify(log).includes(key))
  t.match(await run('key', 'list'), { out: new RegExp(`^${id} +app +${key_prefix} +- +2`, 'm') })
  const long = await run('key', 'create', '--name', 'x'.repeat(101))
  t.match(long, { status: 1, out: '', err: /name: 1 to 100 characters/ })
})

t.test('a backup lowers its priority when it holds no lock of the database any more', async (t) => {
  const { run, folder, data, config } = createInstallation(t)
  await setUpWorkspace(run)
  const listOpen = (): string[] => readdirSync('/proc/self/fd').map((name) => readOpenFile(name))
  const openWhenLowered: string[][] = []
  const priority = getPriority()
  const status = await runProgram({
    argv: ['backup', join(folder, 'saved.db'), '--config', config],
    env: {},
    print: () => undefined,
    printBytes: () => Promise.resolve(),
    printError: (text) => t.fail(text),
    readSecret: () => Promise.resolve(''),
    openInput: () => Readable.from([]),
    lowerPriority: () => openWhenLowered.push(listOpen()),
  })
  t.equal(status, 0)
  t.ok(openWhenLowered.length > 0)
  // SQLite's locks are on this file, which a connection keeps open.
  t.notOk(openWhenLowered.flat().includes(join(data, 'posthorn.db-shm')))
  t.equal(getPriority(), priority, 'a command in this process leaves its priority alone')
})

function readOpenFile(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    // The descriptor of the listing itself.
    return ''
  }
}

t.test('the database is backed up, restored and verified', async (t) => {
  const { run, folder, data } = createInstallation(t)
  const file = join(folder, 'saved.db')
  t.match(await run('backup', file), { status: 1, err: /there is no database/ })
  t.match(await run('verify-data'), { status: 1, err: /there is no database/ })
  await setUpWorkspace(run)
  t.match((await run('backup', file, '--json')).json(), { file, bytes: Number, removed: [] })
  t.match(await run('backup', file), { status: 1, err: /./, out: '' }, 'never over a file')
  t.match(await run('backup', '/nowhere/at/all.db'), {
    status: 1,
    err: 'posthorn: there is no folder /nowhere/at\n',
    out: '',
  })
  t.equal((await run('backup', '-')).out.slice(0, 15), 'SQLite format 3')
  t.match(await run('backup', '-', '--json'), { status: 2, out: '' })
  const left = readdirSync(data).filter((name) => name.includes('backup'))
  t.same(left, [], 'nothing is left beside the database')
  t.match(await run('verify-data'), { status: 0, out: 'no problems\n' })
  t.same((await run('verify-data', '--json')).json(), { ok: true, problems: [] })
  t.same((await run('verify-data', '--repair', '--json')).json(), { ok: true, problems: [] })
  const lock = lockDataFolder(data)
  t.match(await run('verify-data', '--repair'), { status: 1, out: '', err: /stop it first/ })
  lock.release()
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

t.test('a workspace is transferred to one of its members only', async (t) => {
  const { run, data } = createInstallation(t)
  const { workspace_id: id, user_id: first } = await setUpWorkspace(run)
  const other = await run('workspace', 'create', 'Other', '--email', 'second@acme.test', '--json')
  const { user_id: second } = other.json() as SetupOutput
  t.match(await run('workspace', 'transfer', id), { status: 2, err: /EMAIL is missing/ })
  t.match(await run('workspace', 'transfer', id, 'second@acme.test'), { status: 1, err: /not a member/ })
  t.match(await run('workspace', 'transfer', id, 'o@acme.test'), { status: 1, err: /owns .* already/ })
  t.match(await run('workspace', 'transfer', 'ws_none', 'o@acme.test'), { status: 1, err: /no such workspace/ })
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const member = 'insert into members (id, workspace_id, user_id, role, joined_at) values (?, ?, ?, ?, 1)'
  await database.commit([{ sql: member, parameters: ['m', id, second, 'member'] }])
  const done = await run('workspace', 'transfer', id, 'SECOND@acme.test', '--json')
  t.same(done.json(), { workspace_id: id, owner_id: second, former_owner_id: first })
  t.same(await database.read('select user_id, role from members where workspace_id = ? order by role', [id]), [
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

t.test('a password is read from standard input, and cannot be an argument', async (t) => {
  const { run, config, data } = createInstallation(t)
  await setUpWorkspace(run)
  const set = async (email: string, input: string): Promise<{ status: unknown; err: string }> => {
    const child = spawn('env', plainNode(programFile, 'user', 'set-password', email, '--config', config))
    const closed = once(child, 'close')
    child.stdin.end(input)
    const err = await text(child.stderr)
    return { status: (await closed)[0], err }
  }
  t.match(await run('user', 'set-password', 'o@acme.test', 'secret'), { status: 2, err: /unexpected: secret/ })
  t.match(await set('o@acme.test', 'short\n'), { status: 1, err: /at least 12/ })
  t.match(await set('x@acme.test', 'correct horse battery\n'), { status: 1, err: /no such user/ })
  t.same(await set('O@acme.test', 'correct horse battery\nmore\n'), { status: 0, err: '' })
  const database = await openDatabase({ file: join(data, 'posthorn.db') })
  t.teardown(() => database.close())
  const [user] = await database.read<{ password_hash: string }>('select password_hash from users', [])
  t.equal(await createPasswordHasher().matches('correct horse battery', user?.password_hash ?? null), true)
  t.match(await database.read('select action from audit_log order by seq desc limit 1', []), [
    { action: 'user.password_set' },
  ])
})
