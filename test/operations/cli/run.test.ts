/** The command line as a program: usage errors, help, a faulty configuration, users, terminals. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
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
import t from 'tap'
import { standaloneCommands } from '../../../src/operations/cli/command/help.js'
import { databaseCommands } from '../../../src/operations/cli/command-list/all-commands.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { createInstallation, programFile, runProgram, setUpWorkspace } from '../../helpers/cli/command-line.js'
import { runCommand } from '../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../helpers/database/database.js'

t.test('usage errors end with status 2 and leave nothing behind', async (t) => {
  const { run, data } = createInstallation(t)
  const wrong: readonly (readonly [argv: readonly string[], says: RegExp])[] = [
    [['nonsense'], /unknown command: nonsense/],
    [['key'], /unknown command: key \(there are: key create, key list, key revoke\)\n/],
    [['key', 'destroy'], /unknown command: key destroy/],
    [['quue', 'list'], /unknown command: quue list; did you mean "queue list"\?\n/],
    [['quue'], /unknown command: quue; did you mean "queue"\?\n/],
    [['domain', 'verfy', 'a.test'], /; did you mean "domain verify"\?\n/],
    [['chek'], /; did you mean "check"\?\n/],
    [['key', 'create', '--colour', 'red'], /^posthorn: unknown option: --colour\n/],
    [['key', 'create', '--scope', 'send'], /^posthorn: unknown option: --scope; did you mean "--scopes"\?\n/],
    [['-x'], /^posthorn: unknown option: -x\n/],
    [['--__proto__', 'check'], /^posthorn: unknown option: --__proto__\n/],
    [['check', '--json=yes'], /^posthorn: --json takes no value\n/],
    [['key', 'create'], /--name is missing\n"posthorn help key create" shows its usage and its options\n$/],
    [
      ['status'],
      /unknown command: status; "systemctl status posthorn" .*"posthorn top --once".*"posthorn doctor".*\n"posthorn help" lists/,
    ],
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
    t.match(err, /\n"posthorn help.*\n$/, argv.join(' '))
  }
  t.equal(existsSync(join(data, 'posthorn.db')), false)

  t.match(await run('queue', 'list', '--status', 'odd'), { status: 2, err: /--status: found "odd", allowed: queued, / })
  t.match(await run('queue', 'hold'), { status: 2, err: /name the entries/ })
  const help = await runCommand(['--help'])
  t.match(help, { status: 0, err: '' })
  for (const { name } of databaseCommands) {
    t.match(help.out, new RegExp(`^ {2}${name.split(' ', 1)[0]}\\b`, 'm'), `${name} or its family`)
  }
  t.match(help.out, /^ {2}key +API keys: create, list, revoke$/m)
  t.match(help.out, /^ {2}setup +create the first workspace/m)
  t.match(help.out, /^ {2}node +daemons that share a PostgreSQL database: list, drain, remove$/m)
  t.notMatch(help.out, /^ {2}\w+ +:/m, 'each family has a subject')
  const lines = help.out.split('\n')
  t.ok(lines.length <= 60, `one screen: ${lines.length} lines`)
  t.same(
    lines.filter((line) => line.length > 80),
    [],
  )
  t.match(await runCommand([]), { status: 2, out: help.out })
  t.equal((await runCommand(['help'])).out, help.out)
  t.equal((await runCommand(['-h'])).out, help.out)
  t.same((await runCommand(['help', '--json'])).json(), { help: help.out.trimEnd() })
})

t.test('docs/commands.md has one row for each command', async (t) => {
  const rows = readFileSync('docs/commands.md', 'utf8').matchAll(/^\| `([a-z][a-z -]*)` \|/gm)
  const names = [...standaloneCommands, ...databaseCommands].map(({ name }) => name)
  t.same([...rows].map(([, name]) => name).sort(), names.toSorted())
})

t.test('each command has its own help with every option, and needs no configuration for it', async (t) => {
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
      t.match(await runCommand([name, '--help']), { status: 0, out: new RegExp(`^posthorn ${name}\\b`) })
    t.match(await runCommand(['help', name]), { status: 0, out: new RegExp(`^posthorn ${name}\\b`) })
  }
  t.match((await runCommand(['help', 'queue', 'list'])).out, /^ {2}--workspace +only entries of this workspace/m)
  const keys = (await runCommand(['key', '--help'])).out
  t.match(keys, /^posthorn key \.\.\.: API keys\n {2}key create {2}create an API key/)
  for (const name of ['key list', 'key revoke']) t.match(keys, new RegExp(`^  ${name} `, 'm'))
  t.match(await runCommand(['help', 'queue', 'rules']), { out: /^ {2}queue rules add +hold mail/m })
  const warmUp = (await runCommand(['help', 'warmup'])).out
  t.match(warmUp, /^posthorn warmup\n[\s\S]*^ {2}warmup skip +end the/m, 'a command that is a family too')
  t.notMatch((await runCommand(['help', 'warmup', 'skip'])).out, /warmup restart/)
  t.match(await runCommand(['help', 'quue']), { status: 2, err: /did you mean "queue"/ })
  t.match(await runCommand(['help', 'serve']), { status: 0, out: /^posthorn serve \[--no-copy\]\n.*SIGHUP/ })
  t.match(await runCommand(['help', 'nonsense']), { status: 2, err: /unknown command: nonsense/ })
  t.match(await runCommand(['nonsense', '--help']), { status: 2, err: /unknown command: nonsense/ })
  t.match(await runCommand(['version', 'more']), { status: 2, err: /unexpected: more/ })
})

t.test('a faulty configuration stops every command, with all of its problems reported at once', async (t) => {
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
  const good = createInstallation(t)
  // The data folder of this test: where there is none, root judges as the user of the unit, which this machine may have.
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

t.test('a server that others reach is not prepared under a name of one label', async (t) => {
  const { config, run } = createInstallation(t)
  const whole = readFileSync(config, 'utf8')
  const setup = ['setup', '--workspace', 'Acme', '--email', 'o@acme.test']
  const rename = (hostname: string): string => whole.replace('mail.service.test', hostname)
  const open = (text: string): string => text.replace(/(\[inbound\]\nlisten = \[ ?)"127\.0\.0\.1:0"/, '$1"0.0.0.0:0"')
  writeFileSync(config, open(rename('mailbox')))
  const said =
    /service\.hostname: found "mailbox", a name of one label, .* inbound\.listen\[0\], .*; allowed: a full name/
  t.match(await run('check'), { status: 1, out: said })
  t.match((await run('check', '--json')).json(), { ok: false, problems: [{ key: 'service.hostname' }] })
  t.match(await run(...setup), { status: 1, err: said, out: '' })
  t.match((await run(...setup, '--json')).json(), { ok: false, problems: [{ key: 'service.hostname' }] })

  writeFileSync(config, rename('mailbox'))
  t.match(await run('check'), { status: 0 }, 'on loopback any name will do')
  t.match(await run(...setup), { status: 0 })
  t.match(await run('domain', 'add', 'first.test'), { status: 0 })
  writeFileSync(config, open(rename('mailbox')))
  t.match(await run('domain', 'add', 'second.test'), { status: 1, err: said, out: '' })
  t.match(await run('domain', 'list'), { status: 0, out: /^first\.test(?![\s\S]*second)/m }, 'what only reads goes on')
  writeFileSync(config, open(whole))
  t.match(await run('check'), { status: 0 })
  t.match(await run('domain', 'add', 'second.test'), { status: 0 })
})

t.test('a check reads the file of authorities that SMPP needs', async (t) => {
  const { config, data, run } = createInstallation(t)
  mkdirSync(data)
  const file = join(dirname(config), 'ca.pem')
  const sms = `[sms]\nprovider = "smpp"\n[sms.smpp]\nurl = "smpps://sms.test"\nsystem_id = "a"\nca_file = "${file}"\n`
  appendFileSync(config, sms)
  t.match(await run('check'), { status: 1, out: /sms\.smpp\.ca_file: ENOENT.*ca\.pem/ })
  writeFileSync(file, 'no certificate')
  t.match(await run('check'), { status: 1, out: /sms\.smpp\.ca_file: .*ca\.pem holds no certificate in PEM form/ })
})

t.test('the program runs as a process', async (t) => {
  const { config } = createInstallation(t)
  const made = runProgram('setup', '--workspace', 'Acme', '--email', 'o@acme.test', '--json', '--config', config)
  t.match(made, { status: 0, stderr: '' })
  t.match(JSON.parse(made.stdout), { workspace_id: /^ws_/ })
  t.match(runProgram('nonsense', '--config', config), { status: 2, stdout: '' })
  t.match(runProgram('explain', 'nothing', '--config', config), { status: 1, stdout: '' })
})

t.test('a reader that closes the pipe is no error', async (t) => {
  const { config } = createInstallation(t)
  const child = spawn(process.execPath, [programFile, '--help', '--config', config], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const said = text(child.stderr)
  const [status] = (await once(child, 'close')) as [number]
  t.equal(await said, '')
  t.equal(status, 0)
})

t.test('untrusted text does not control the terminal', async (t) => {
  const { run } = createInstallation(t)
  await setUpWorkspace(run)
  t.match(await run('key', 'create', '--name', 'a\u001b[31mb\u0007'), {
    status: 0,
    out: /^key \S+ \(a\?\[31mb\?\)\nph_/,
  })
})

const root = process.getuid?.() === 0

const unprivilegedId = 65_534

t.test('started as root, it works as the owner of the data folder', { skip: !root && 'not root' }, async (t) => {
  const { config, data, folder } = createInstallation(t)
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, unprivilegedId, unprivilegedId)
  chmodSync(folder, 0o755)
  t.match(runProgram('setup', '--workspace', 'Acme', '--email', 'o@acme.test', '--config', config), {
    status: 0,
    stderr: '',
  })
  const { uid, gid } = statSync(join(data, 'posthorn.db'))
  t.same([uid, gid], [unprivilegedId, unprivilegedId])
  t.ok(readFileSync(config, 'utf8').length > 0)
})

t.test('a check by root uses the rights of the daemon, and names whose', { skip: !root && 'not root' }, async (t) => {
  const { config, data, folder } = createInstallation(t)
  const { cert, key } = await createSelfSigned(['localhost'])
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key, { mode: 0o600 })
  writeFileSync(config, `${readFileSync(config, 'utf8')}\n[tls]\ncert_file = "${certFile}"\nkey_file = "${keyFile}"\n`)
  mkdirSync(data, { mode: 0o700 })
  chmodSync(folder, 0o755)
  t.match(runProgram('check', '--config', config), { status: 0, stdout: /no problems\nchecked .* of the user root\n$/ })

  chownSync(data, unprivilegedId, unprivilegedId)
  const refused = runProgram('check', '--config', config)
  t.match(refused, { status: 1, stdout: /: tls: EACCES.*key\.pem.*\nchecked with the rights of the user nobody\n$/ })
  chmodSync(keyFile, 0o644)
  t.match(runProgram('check', '--config', config), { status: 0, stdout: /no problems/ })
  chmodSync(config, 0o600)
  t.match(runProgram('check', '--config', config), { status: 1, stdout: /cannot be read: EACCES.*\n.* user nobody\n$/ })
  t.match(runProgram('key', 'list', '--config', config).status, 1)
  chmodSync(config, 0o644)
  chmodSync(data, 0o500)
  t.match(runProgram('check', '--config', config), { status: 1, stdout: /service\.data_dir: EACCES/ })
  chmodSync(data, 0o700)
  chmodSync(folder, 0o750)
  const hidden = readFileSync(config, 'utf8')
  const reachable = join(temporaryFolder(t), 'posthorn.toml')
  chmodSync(dirname(reachable), 0o755)
  writeFileSync(reachable, hidden.replace(/^\[tls\][^[]*/m, ''))
  t.match(runProgram('check', '--config', reachable), { status: 1, stdout: /service\.data_dir: EACCES/ }, 'not absent')
  chmodSync(folder, 0o755)
  t.match(runProgram('setup', '--workspace', 'A', '--email', 'o@acme.test', '--config', config), { status: 0 })
  const database = join(data, 'posthorn.db')
  chownSync(database, 0, 0)
  const copied = runProgram('check', '--config', config)
  t.match(copied, { status: 1, stdout: /service\.data_dir: EACCES.*posthorn\.db'\n.* user nobody\n$/ })
  const unread = runProgram('key', 'list', '--config', config)
  t.match(unread, { status: 1, stderr: /\(SQLITE_CANTOPEN\), as the user nobody: "posthorn check" says more\n$/ })
  chownSync(database, unprivilegedId, unprivilegedId)
  const elsewhere = runProgram('backup', join(folder, 'saved.db'), '--config', config)
  t.match(elsewhere, {
    status: 1,
    stderr: /EACCES.*: this command runs as the user nobody, which has no right to it: use a folder of that user\n$/,
  })
  const list = join(folder, 'sup.csv')
  writeFileSync(list, 'email\n', { mode: 0o600 })
  t.match(runProgram('suppression', 'import', list, '--config', config), {
    status: 1,
    stderr: `sup.csv': this command runs as the user nobody, which may not read it: posthorn suppression import - < ${list}\n`,
  })
  chmodSync(folder, 0o750)
  const commands = [
    ['reload'],
    ['top', '--once'],
    ['backup', '/tmp/saved.db'],
    ['queue', 'summary'],
    ['check', '--upgrade'],
  ]
  for (const words of commands) {
    const closed = runProgram(...words, '--config', reachable)
    t.match(
      closed,
      { status: 1, stderr: /: not permitted for the user nobody: run the command as root/ },
      words.join(' '),
    )
  }
  chmodSync(folder, 0o755)
})

t.test('with --json, each command prints the problems of a broken configuration as one value', async (t) => {
  const { config, run } = createInstallation(t)
  writeFileSync(config, '[limits]\ndefault_plan = "gold"\nanything = 1\n')
  const names = [...databaseCommands.map(({ name }) => name), 'check', 'check --upgrade']
  t.ok(names.includes('reload') && names.length > 30)
  for (const name of names) {
    const { status, json } = await run(...name.split(' '), '--json')
    const answer = json() as { readonly ok: boolean; readonly problems: readonly { readonly key: string }[] }
    t.same([status, answer.ok], [1, false], name)
    t.same(answer.problems.map(({ key }) => key).sort(), ['limits.anything', 'limits.default_plan'], name)
  }
  t.match((await run('reload', '--json')).json(), { applied: [], pending: [] })
  t.match(await run('reload'), { status: 1, out: '', err: /limits\.default_plan: found "gold"/ })
})
