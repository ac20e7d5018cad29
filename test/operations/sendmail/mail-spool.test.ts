/** The spool that all users of a machine share: who makes it, who may use it, and whose messages are sent with which key. */
import { spawn } from 'node:child_process'
import { chmodSync, chownSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MailSpool } from '../../../src/operations/sendmail/mail-spool.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { freePort } from '../../helpers/free-port.js'
import { openSink } from '../../helpers/smtp/scripted-sink.js'
import { type ProgramResult, waitForExit } from '../../journeys/support/program.js'

const skip = process.getuid?.() === 0 ? false : 'not root'
const nobody = 65_534
const sendmailUrl = new URL('../../../src/operations/sendmail/sendmail.js', import.meta.url).href

/** Calls sendmail as another user, with a folder for the system's spool. */
function callAsNobody(folder: string, argv: readonly string[]): Promise<ProgramResult> {
  const script = `
    const { sendmail } = await import(${JSON.stringify(sendmailUrl)})
    const write = (text) => process.stderr.write(text)
    const readInput = async () => Buffer.from('Subject: s\\n\\nhello\\n')
    const files = { spool: ${JSON.stringify(join(folder, 'spool'))}, aliases: '/none' }
    const env = { POSTHORN_SENDMAIL_CONFIG: ${JSON.stringify(join(folder, 'sendmail.toml'))} }
    const clock = () => Date.now()
    const call = { argv: ${JSON.stringify(argv)}, env, readInput, print: write, printError: write, clock, ...files }
    process.exitCode = await sendmail(call)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    ...{ cwd: '/', uid: nobody, gid: nobody, env: {} },
  })
  return waitForExit(child)
}

function openFolder(t: Test, settings: string): string {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'key'), 'ph_secret', { mode: 0o600 })
  writeFileSync(join(folder, 'sendmail.toml'), `${settings}\nkey_file = "${join(folder, 'key')}"\n`)
  return folder
}

const letter = { sender: 'a@a.test', recipients: ['b@b.test'], raw: Buffer.from('Subject: s\r\n\r\nhello\r\n') }

t.test('root makes the folder for all users, and others are told the cure', { skip }, async (t) => {
  const folder = openFolder(t, `server = "127.0.0.1:${await freePort()}"`)
  const cure = /cannot be spooled: .*; as root, run: install -d -m 1777 \S+\/spool\n$/
  t.match(await callAsNobody(folder, ['b@b.test']), { status: 75, stderr: cure })
  new MailSpool(join(folder, 'spool'), true).add(letter, 1)
  t.equal(statSync(join(folder, 'spool')).mode & 0o7777, 0o1777)
  t.match(await callAsNobody(folder, ['b@b.test']), { status: 0, stderr: '' })
  chmodSync(join(folder, 'spool'), 0o700)
  t.match(
    await callAsNobody(folder, ['b@b.test']),
    { status: 75, stderr: cure },
    'the mode of a folder that is there is kept',
  )
})

t.test('who may not read the key sends through the spool, which root sends', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const folder = openFolder(t, `server = "127.0.0.1:${sink.port}"`)
  const spool = new MailSpool(join(folder, 'spool'), true)
  spool.add(letter, 1)
  t.match(await callAsNobody(folder, ['-f', 'c@a.test', 'd@b.test']), { status: 0, stderr: '' })
  t.match(await callAsNobody(folder, ['-q']), { status: 77, stderr: /key_file cannot be read/ })
  t.equal(sink.messages.length, 0)
  t.same(
    [...spool.messages()].map(({ message }) => [message.sender, message.recipients]),
    [
      ['a@a.test', ['b@b.test']],
      ['c@a.test', ['d@b.test']],
    ],
  )
})

t.test('a user with a key sends no message that another user has written', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const folder = openFolder(t, `server = "127.0.0.1:${sink.port}"`)
  writeFileSync(join(folder, 'sendmail.toml'), `server = "127.0.0.1:${sink.port}"\n`)
  new MailSpool(join(folder, 'spool'), true).add(letter, 1)
  const [name = ''] = readdirSync(join(folder, 'spool'))
  const file = join(folder, 'spool', name)
  chmodSync(file, 0o666)
  t.match(await callAsNobody(folder, ['-q']), { status: 0, stderr: '' })
  t.equal(sink.messages.length, 0)
  chownSync(file, nobody, nobody)
  t.match(await callAsNobody(folder, ['-q']), { status: 0, stderr: '' })
  t.equal(sink.messages.length, 1)
})
