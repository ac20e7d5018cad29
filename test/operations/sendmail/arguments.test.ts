/** The arguments that programs give to sendmail. */
import t from 'tap'
import { parseArguments } from '../../../src/operations/sendmail/arguments.js'

const none = { act: 'send', sender: null, fullName: '', recipients: [], readsRecipients: false, ignoresDots: false }

const calls: readonly (readonly [caller: string, line: string, read: object])[] = [
  [
    'cron of Debian',
    '-FCronDaemon -i -B8BITMIME -oem root',
    { fullName: 'CronDaemon', ignoresDots: true, recipients: ['root'] },
  ],
  [
    'cronie',
    '-FCronDaemon -i -odi -oem -oi -t -f root',
    { fullName: 'CronDaemon', ignoresDots: true, readsRecipients: true, sender: 'root' },
  ],
  ['PHP', '-t -i', { readsRecipients: true, ignoresDots: true }],
  ['PHP with a sender', '-t -i -fapp@a.test', { readsRecipients: true, ignoresDots: true, sender: 'app@a.test' }],
  [
    'git send-email',
    '-i -f me@a.test bob@b.test carol@b.test',
    { ignoresDots: true, sender: 'me@a.test', recipients: ['bob@b.test', 'carol@b.test'] },
  ],
  [
    'mailx',
    '-i -m -v -r me@a.test -- bob@b.test',
    { ignoresDots: true, sender: 'me@a.test', recipients: ['bob@b.test'] },
  ],
  ['a bounce', '-f <> -oMr local -N never bob@b.test', { sender: '', recipients: ['bob@b.test'] }],
  ['options together', '-ti', { readsRecipients: true, ignoresDots: true }],
  ['a timer', '-q', { act: 'flush' }],
  ['a timer with an interval', '-q30m', { act: 'flush' }],
  ['mailq', '-bp', { act: 'list' }],
]

for (const [caller, line, read] of calls) {
  t.test(caller, async (t) => t.same(parseArguments(line.split(' ')), { ...none, ...read }))
}

t.test('an empty sender is the null sender', async (t) => t.equal(parseArguments(['-f', '']).sender, ''))

for (const line of ['-bs', '-bd', '-bi', '-Z', '-f']) {
  t.test(`refused: ${line}`, async (t) =>
    t.throws(() => parseArguments(line.split(' ')), { name: 'SendmailFault', exitCode: 64 }),
  )
}
