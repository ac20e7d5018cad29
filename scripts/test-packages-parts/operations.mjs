/**
 * Runs the commands of docs/operations.md in a booted tree, in their order, as the page shows them.
 *
 *   node operations.mjs PROCESS
 *
 * PROCESS is the systemd of the tree, in which this version runs with the workspace and the domain of docs/install.md. The page names
 * it and the next one (scripts/release-parts/prepare.mjs). Its ids and times stand for those of the tree. The last line is `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [leader = ''] = process.argv.slice(2)
const page = 'docs/operations.md'

/** What cannot be run in the tree. */
const notHere = [
  [/^curl /, 'the tree has no curl'],
  [/standby/, 'needs a second machine'],
  [/^posthorn certificates/, 'needs an ACME server'],
  [/^posthorn sms (send|check)/, 'needs a provider of SMS'],
  [/^rm /, 'stands for any file'],
]

/** Commands that end with another status, which the page shows or which the tree causes: its Internet has only the names of the test. */
const statuses = [
  [/^posthorn doctor --nagios/, [0, 1, 2]],
  [/^posthorn doctor/, [0, 1]],
  [/^apt-get install --allow-downgrades/, [100]],
  [/^posthorn verify-data/, [0, 1]],
  // Nothing is held.
  [/^posthorn (breaker|sms) release/, [1]],
]

/** What must be in the output. */
const outputs = [
  [/^journalctl -t posthorn/, /^posthorn: the database: .*SQLITE_/m],
  [/^posthorn setup/, /^verified: you can send from example\.com$/m],
  [/^posthorn check/, /^\/etc\/posthorn\/posthorn\.toml: no problems$/m],
  [/^posthorn restore/, /^restored$/m],
  [/^apt-get install --allow-downgrades/, /posthorn restore FILE/],
]

/** What must have happened before a command, and what its reader types. */
const preparations = [
  [/^posthorn key revoke/, 'posthorn key create --name shop --scopes send'],
  [
    /^journalctl -t posthorn .*\bmalformed\b/,
    'systemctl stop posthorn; dd if=/dev/urandom of=/var/lib/posthorn/posthorn.db bs=4096 seek=8 count=200 conv=notrunc status=none; systemctl start posthorn',
  ],
]
const typed = [
  [/set-password/, 'a long enough password\n'],
  [/^apt-get/, 'y\n'],
]

const found = (rows, command) => rows.find(([pattern]) => pattern.test(command))?.[1]

function runInTree(command, input = '') {
  const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup', '--root', '--wd=/']
  const environment = [
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME=/root',
    'LC_ALL=C.UTF-8',
    'DEBIAN_FRONTEND=noninteractive',
  ]
  const words = ['/usr/bin/env', '-i', '--chdir=/var/tmp', ...environment, 'bash', '-c', command]
  const { status, stdout, stderr } = spawnSync('nsenter', ['--target', leader, ...namespaces, ...words], {
    input,
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

/** The commands of the blocks: those behind a prompt, or all lines of a block without a prompt. */
function readCommands() {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, language]) => language === '')
    .map(([, , text]) => text)
  return blocks.flatMap((block) => {
    const shown = block.split(/^# /m)
    if (shown.length > 1) return shown.slice(1).map((part) => ({ command: part.split('\n')[0], shown: part }))
    return /^(posthorn|curl) /.test(block)
      ? block
          .trim()
          .split('\n')
          .map((command) => ({ command, shown: command }))
      : []
  })
}

/** The ids of the tree, by what they look like in the page. */
class TreeIds {
  ids = new Map()

  note(output) {
    const rule = /^hold rule (hr_\w+):/m.exec(output)?.[1]
    if (rule !== undefined) this.ids.set('rule', rule)
    const email = /^([\da-f-]{36}) {2}delivered$/m.exec(output)?.[1]
    if (email !== undefined) this.ids.set('email', email)
    const key = /^key ([\da-f-]{36}) /m.exec(output)?.[1]
    if (key !== undefined) this.ids.set('key', key)
    const workspace = /\b(ws_[\da-f-]{36})\b/.exec(output)?.[1]
    if (workspace !== undefined) this.ids.set('workspace', workspace)
  }

  fill(command) {
    const backup = () => runInTree('ls /var/lib/posthorn-backup/posthorn-*.db').output.trim().split('\n').at(-1)
    return command
      .replace(/\bhr_\w+/, () => this.ids.get('rule'))
      .replace(/^(posthorn log) [\da-f-]{36}/, (_, verb) => `${verb} ${this.ids.get('email')}`)
      .replace(/^(posthorn key revoke) [\da-f-]{36}/, (_, verb) => `${verb} ${this.ids.get('key')}`)
      .replace('ws_ID', () => this.ids.get('workspace'))
      .replace(/\/var\/lib\/posthorn-backup\/posthorn-\w+\.db/, backup)
      .replace('amd64', process.arch === 'x64' ? 'amd64' : process.arch)
  }
}

const ids = new TreeIds()
const counts = { passed: 0, failed: 0 }

function runShown({ command, shown }) {
  const reason = found(notHere, command)
  if (reason !== undefined) return console.log(`     not run: ${command}: ${reason}`)
  const preparation = found(preparations, shown.replaceAll('\n', ' '))
  if (preparation !== undefined) ids.note(runInTree(preparation).output)
  const { status, output } = runInTree(ids.fill(command), found(typed, command))
  ids.note(output)
  const isExpected = (found(statuses, command) ?? [0]).includes(status) && (found(outputs, command) ?? /^/).test(output)
  counts[isExpected ? 'passed' : 'failed'] += 1
  console.log(isExpected ? `ok   ${page}: ${command}` : `FAIL ${page}: ${command}: status ${status}\n${output}`)
}

ids.note(runInTree('posthorn workspace list').output)
// What only shows a state is run once.
const shows = /^posthorn (?:doctor|queue summary)/
const commands = readCommands()
for (const [at, shown] of commands.entries()) {
  const isRepeated = commands.slice(0, at).some(({ command }) => command === shown.command)
  if (!isRepeated || !shows.test(shown.command)) runShown(shown)
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`)
