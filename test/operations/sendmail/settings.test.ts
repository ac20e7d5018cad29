/** Where sendmail finds its server, its key and its sender; and the names of the machine. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { LocalNames, readAliases } from '../../../src/operations/sendmail/local-names.js'
import { readSettings } from '../../../src/operations/sendmail/settings.js'
import { temporaryFolder } from '../../helpers/database/database.js'

function files(t: Test, content: Readonly<Record<string, string>>): (name: string) => string {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries(content)) writeFileSync(join(folder, name), text)
  return (name) => join(folder, name)
}

t.test('the file names server, key and sender', async (t) => {
  const at = files(t, { key: 'ph_secret\n' })
  writeFileSync(at('own.toml'), `server = "[::1]:587"\nkey_file = "${at('key')}"\nsender = "host1@a.test"\n`)
  const expected = { host: '::1', port: 587, key: 'ph_secret', keyFault: null, sender: 'host1@a.test' }
  t.same(readSettings({ POSTHORN_SENDMAIL_CONFIG: at('own.toml') }), expected)
  t.same(readSettings({}, at('own.toml')), expected)
})

t.test('without it, the first submission listener of the daemon is used', async (t) => {
  const at = files(t, { 'daemon.toml': '[submission]\nlisten = ["0.0.0.0:2587", "127.0.0.1:1"]\n', 'empty.toml': '' })
  const none = at('none.toml')
  t.same(readSettings({ POSTHORN_CONFIG: at('daemon.toml') }, none), {
    ...{ host: '127.0.0.1', port: 2587, key: null, keyFault: null, sender: null },
  })
  t.match(readSettings({ POSTHORN_CONFIG: at('empty.toml') }, none), { host: '127.0.0.1', port: 1587 })
  t.match(readSettings({}, none, none), { host: '127.0.0.1', port: 1587 })
})

t.test('the shipped file is valid', async (t) => {
  t.same(readSettings({}, 'config/sendmail.toml'), {
    host: '127.0.0.1',
    port: 587,
    key: null,
    keyFault: null,
    sender: null,
  })
})

t.test('a fault of the configuration is named', async (t) => {
  const at = files(t, {})
  const faults = ['server = "nowhere"', 'sender = "x"', 'port = 1', 'server = 1', 'server', 'key_file = "/none"']
  for (const text of faults) {
    writeFileSync(at('own.toml'), text)
    t.throws(() => readSettings({}, at('own.toml')), { name: 'SendmailFault', exitCode: 78 }, text)
  }
  t.throws(() => readSettings({ POSTHORN_SENDMAIL_CONFIG: at('none') }), { name: 'SendmailFault', exitCode: 78 })
})

t.test('names without a domain follow the aliases, or get the domain of the sender', async (t) => {
  const at = files(t, {
    aliases: '# c\nPostmaster: root\nroot: admin@b.test,\n ops@b.test\nlog: |/bin/cat, /var/log/x\nloop: loop\n',
  })
  const names = new LocalNames(parseAddress('host1@a.test'), readAliases(at('aliases')))
  t.same(names.resolve(['postmaster', 'bob@c.test', 'ops@b.test']), ['admin@b.test', 'ops@b.test', 'bob@c.test'])
  t.same(names.resolve(['log', 'loop', 'eve']), ['log@a.test', 'loop@a.test', 'eve@a.test'])
  t.throws(() => names.resolve(['a b']), { name: 'SendmailFault', exitCode: 67 })
  t.same([...readAliases(at('none'))], [])
})
