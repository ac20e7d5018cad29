import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type LoadedConfig, loadConfig } from '../../../src/base/config/load.js'
import { temporaryFolder } from '../../helpers/database/database.js'

interface Loading {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly needsCredentials?: boolean
  readonly mode?: number
}

function load(t: Test, text: string, { files = {}, env = {}, needsCredentials = true, mode = 0o600 }: Loading = {}) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'credentials'))
  for (const [name, content] of Object.entries({ ...files, 'posthorn.toml': text })) {
    writeFileSync(join(folder, name), content)
    chmodSync(join(folder, name), mode)
  }
  const CREDENTIALS_DIRECTORY = join(folder, 'credentials')
  return loadConfig({ file: join(folder, 'posthorn.toml'), env: { CREDENTIALS_DIRECTORY, ...env }, needsCredentials })
}

function configOf(loaded: LoadedConfig) {
  if (loaded.kind === 'config') return loaded.config
  throw new Error(JSON.stringify(loaded.problems))
}

function problemsOf(loaded: LoadedConfig): readonly string[] {
  return loaded.kind === 'problems' ? loaded.problems.map(({ key, message }) => `${key}: ${message}`) : []
}

t.test('each secret may come from a file', async (t) => {
  const text = `
[spam]
rspamd_url_file = "rspamd"
[outbound]
routes = { "plain.test" = "192.0.2.1:25" }
routes_file = "routes"
[sms.http]
password_file = "http"
body_template_file = "template"
[sms.smpp]
password_file = "$CREDENTIALS_DIRECTORY/smpp"
`
  const files = {
    rspamd: 'http://user:hidden@127.0.0.1:11333\n',
    routes: '"*" = "smtps://user:hidden@relay.test:465"\n',
    http: 'first line end counts not\n',
    template: '{"to":"{to}","text":"{text}","key":"hidden"}',
    'credentials/smpp': 'of systemd\r\n',
  }
  const { spam, outbound, sms } = configOf(load(t, text, { files }))
  t.equal(spam.rspamd_url?.password, 'hidden')
  t.same(Object.keys(outbound.routes), ['plain.test', '*'])
  t.match(outbound.routes['*'], { host: 'relay.test', port: 465 })
  t.match(sms.http, { password: 'first line end counts not', body_template: files.template })
  t.equal(sms.smpp.password, 'of systemd')
})

t.test('a file and a value contradict each other, and no problem shows a secret', async (t) => {
  const text = `
[outbound]
routes = { "a.test" = "192.0.2.1:25" }
routes_file = "routes"
[sms.http]
password = "hidden"
password_file = "http"
[sms.smpp]
password_file = "absent"
[spam]
rspamd_url_file = "rspamd"
`
  const files = { routes: '"a.test" = "192.0.2.2:25"', http: 'hidden', rspamd: 'hidden' }
  const problems = problemsOf(load(t, text, { files }))
  const expected = [
    /^outbound\.routes_file: found "a\.test", which outbound\.routes has; allowed: each domain once$/,
    /^spam\.rspamd_url_file: found a value that is not shown here; allowed: an "http:\/\/"/,
    /^sms\.http\.password_file: found with sms\.http\.password; allowed: one of the two$/,
    /^sms\.smpp\.password_file: found "absent", which cannot be read: ENOENT/,
  ]
  for (const problem of expected)
    t.ok(
      problems.some((text) => problem.test(text)),
      String(problem),
    )
  t.equal(problems.length, 4)
  t.notMatch(problems.join('\n'), /hidden/)
  const routes = (content: string) =>
    problemsOf(load(t, '[outbound]\nroutes_file = "routes"', { files: { routes: content } }))
  t.match(routes('"b.test" = "hidden host"'), [/^outbound\.routes_file: found a value that is not shown here/])
  t.match(
    routes('"smtps://u:hidden@b.test:465" = "*"').join(),
    /found a value that is not shown here; allowed: a domain/,
  )
  t.notMatch(routes('"smtps://u:hidden@b.test:465" = "*"').join(), /hidden/, 'its two sides are swapped')
  t.match(problemsOf(load(t, '[sms.http]\npassword_file = "/dev/zero"')), [
    /"\/dev\/zero", which is not a regular file$/,
  ])
  t.match(routes('hidden'), [/^outbound\.routes_file: line 1, column \d+ of the file is no TOML/])
  t.match(problemsOf(load(t, '[sms.http]\npassword_file = "big"', { files: { big: 'x'.repeat(65_537) } })), [
    /^sms\.http\.password_file: found 65537 bytes in .*; allowed: up to 65536$/,
  ])
})

t.test('a credential is needed by the daemon only', async (t) => {
  const text = '[sms.http]\npassword_file = "$CREDENTIALS_DIRECTORY/sms"'
  t.match(problemsOf(load(t, text)), [
    /^sms\.http\.password_file: found "\$CREDENTIALS_DIRECTORY\/sms", which cannot be read/,
  ])
  t.equal(configOf(load(t, text, { needsCredentials: false })).sms.http.password, '')
})

t.test('a secret that every user can read is a warning', async (t) => {
  const warningsOf = (loaded: LoadedConfig) => (loaded.kind === 'config' ? loaded.warnings.map(({ key }) => key) : null)
  const inFile = '[sms.http]\npassword_file = "http"'
  t.same(warningsOf(load(t, inFile, { files: { http: 'x' }, mode: 0o644 })), ['sms.http.password_file'])
  t.same(warningsOf(load(t, inFile, { files: { http: 'x' }, mode: 0o640 })), [])
  const inline = '[sms.smpp]\npassword = "x"\n[outbound]\nroutes = { "*" = "smtps://u:p@relay.test:465" }'
  t.same(warningsOf(load(t, inline, { mode: 0o644 })), ['outbound.routes', 'sms.smpp.password'])
  t.same(warningsOf(load(t, inline, { mode: 0o600 })), [])
  t.same(warningsOf(load(t, '[outbound]\nroutes = { "*" = "relay.test:25" }', { mode: 0o644 })), [], 'no login')
  for (const query of [
    '://mail:x@db.test/mail',
    '://mail@db.test/mail?sslmode=disable&password=x',
    '://a:x@b.test,c.test:5433/mail',
  ]) {
    const storage = `[storage]\nurl = "postgres${query}"`
    t.same(warningsOf(load(t, storage, { mode: 0o644 })), ['storage.url'], query)
    t.same(warningsOf(load(t, storage, { mode: 0o640 })), [], query)
  }
  for (const url of ['postgres://mail@db.test:5432,b.test:5432/mail', 'postgres://db.test:5432/mail']) {
    t.same(warningsOf(load(t, `[storage]\nurl = "${url}"`, { mode: 0o644 })), [], 'no password')
  }
  for (const [path, name] of [
    ['word', 'word'],
    ['$CREDENTIALS_DIRECTORY/word', 'credentials/word'],
  ] as const) {
    const storage = `[storage]\npassword_file = "${path}"`
    t.same(warningsOf(load(t, storage, { files: { [name]: 'x' }, mode: 0o644 })), ['storage.password_file'])
    t.same(warningsOf(load(t, storage, { files: { [name]: 'x' }, mode: 0o640 })), [])
  }
  t.same(
    warningsOf(load(t, '[storage]\npassword_file = "absent"', { mode: 0o644 })),
    [],
    'the check of the server says it',
  )
})
