/** The completion of the command line by the shells themselves, where they are installed. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { databaseCommands } from '../../../src/operations/cli/command-list/all-commands.js'
import { runCommand } from '../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

const scriptFor = async (shell: string): Promise<string> => (await runCommand(['completion', shell])).out

/** Words of a command line, the last one incomplete, and what completes it. */
const cases: readonly (readonly [typed: readonly string[], completed: readonly string[]])[] = [
  [['ver'], ['verify-data', 'version']],
  [
    ['queue', 're'],
    ['release', 'retry'],
  ],
  [
    ['queue', 'rules', ''],
    ['add', 'list', 'remove'],
  ],
  [['--config', 'key', 'key', 'c'], ['create']],
  [
    ['key', 'create', '--n'],
    ['--name', '--networks'],
  ],
  [['key', '--name', 'list', 'create', '--js'], ['--json']],
  [['queue', 'list', '--status', 'h'], ['held']],
  [['key', 'create', '--name', ''], []],
  [
    ['domain', 'inbound', 'a.test', 'o'],
    ['off', 'on'],
  ],
  [
    ['warmup', ''],
    ['restart', 'skip'],
  ],
  [['help', 'mess'], ['message']],
  [['--v'], ['--version']],
  [
    ['completion', ''],
    ['bash', 'fish', 'zsh'],
  ],
]

t.test('bash', { skip: skipWithout('bash') }, async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'list.csv'), '')
  const file = join(folder, 'posthorn')
  writeFileSync(file, await scriptFor('bash'))
  const complete = (words: readonly string[]): readonly string[] => {
    const script = `source "$1"; shift; COMP_WORDS=(posthorn "$@"); COMP_CWORD=$#; _posthorn; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', file, ...words], {
      encoding: 'utf8',
      cwd: folder,
    })
    t.equal(stderr, '', words.join(' '))
    return stdout
      .split('\n')
      .filter((word) => word !== '')
      .sort()
  }
  for (const [typed, completed] of cases) t.same(complete(typed), completed, typed.join(' '))
  for (const { name, options } of databaseCommands) {
    const offered = complete([...name.split(' '), '--'])
    t.same(offered, [...Object.keys(options), 'config', 'help', 'json'].map((option) => `--${option}`).sort(), name)
  }
  t.same(complete(['key', 'create', '--scopes', '=', 's']), ['send'], '"=" is a word of its own')
  t.same(complete(['key', 'create', '--scopes', '=']), ['full', 'read', 'send'])
  t.same(complete(['key', 'create', '--scopes', 'send,r']), ['send,read'], 'the last item of a list')
  t.same(complete(['suppression', 'import', 'li']), ['list.csv'], 'a file')
  t.same(complete(['key', 'list', '--config', 'li']), ['list.csv'])
})

/** Stands for the functions of zsh that need an editor line: each prints what it would offer. */
const zshStubs = `
compdef() { }
compset() { if [[ $2 == '*=' ]]; then PREFIX=\${PREFIX#*=}; fi }
compadd() { shift; print -rl -- "$@"; }
_files() { print FILES; }
_describe() {
  if [[ $1 == -o ]]; then shift; fi
  print -rl -- "\${(@)\${(@P)2}%%:*}"
}
source "$1"
shift
words=(posthorn "$@")
CURRENT=$(($# + 1))
PREFIX=$argv[-1]
_posthorn
`

t.test('zsh', { skip: skipWithout('zsh') }, async (t) => {
  const file = join(temporaryFolder(t), '_posthorn')
  writeFileSync(file, await scriptFor('zsh'))
  for (const [typed, completed] of cases) {
    const { stdout, stderr } = spawnSync('zsh', ['-fc', zshStubs, 'zsh', file, ...typed], { encoding: 'utf8' })
    t.equal(stderr, '', typed.join(' '))
    const offered = stdout.split('\n').filter((word) => word !== '' && word.startsWith(typed.at(-1) ?? ''))
    t.same(offered.sort(), completed, typed.join(' '))
  }
})

t.test('fish', { skip: skipWithout('fish') }, async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'posthorn.fish')
  writeFileSync(file, await scriptFor('fish'))
  for (const [typed, completed] of cases) {
    const line = ['posthorn', ...typed].join(' ')
    const { stdout, stderr } = spawnSync('fish', ['-c', 'source $argv[1]; complete -C $argv[2]', file, line], {
      ...{ encoding: 'utf8', cwd: folder },
      env: { ...process.env, HOME: folder },
    })
    t.equal(stderr, '', line)
    const offered = stdout.split('\n').flatMap((word) => (word === '' ? [] : [word.split('\t', 1)[0]]))
    t.same(offered.sort(), completed, line)
  }
})

t.test('a shell has to be named', async (t) => {
  t.match(await runCommand(['completion']), { status: 2, err: /the shell \(bash, zsh, fish\) is missing/ })
  t.match(await runCommand(['completion', 'tcsh']), { status: 2, err: /found tcsh; allowed: bash, zsh, fish/ })
  t.match(await runCommand(['completion', 'bash', '--force']), { status: 2, err: /--force does not belong/ })
  t.match((await runCommand(['completion', 'fish', '--json'])).json(), { shell: 'fish', script: /^# Completes/ })
})
