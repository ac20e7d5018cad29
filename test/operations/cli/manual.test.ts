/** The manual page that packages install. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { databaseCommands } from '../../../src/operations/cli/command-list/all-commands.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

const argv = ['scripts/package-parts/manual.mjs', '--version', '1.2.3-rc.1', '--date', '2026-01-31']
const page = spawnSync(process.execPath, argv, { encoding: 'utf8' })

t.test('it has every command with its options, of this version and date', async (t) => {
  t.equal(page.stderr, '')
  t.match(page.stdout, /^\.TH POSTHORN 1 "2026-01-31" "posthorn 1\.2\.3\\-rc\.1" "Posthorn"\n/)
  t.notMatch(page.stdout, /[^\0-\x7f]/)
  for (const { name, options } of databaseCommands) {
    t.ok(page.stdout.includes(`\\fB${name.replaceAll('-', '\\-')}\\fR`), name)
    for (const option of Object.keys(options))
      t.ok(page.stdout.includes(`\\fB\\-\\-${option.replaceAll('-', '\\-')}\\fR`))
  }
})

t.test('groff has no complaint about it', { skip: skipWithout('groff') }, async (t) => {
  const { status, stderr } = spawnSync('groff', ['-man', '-ww', '-z'], { input: page.stdout, encoding: 'utf8' })
  t.same({ status, stderr }, { status: 0, stderr: '' })
})

t.test('it reads as it was written', { skip: skipWithout('man') }, async (t) => {
  const shown = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', '-'], {
    input: page.stdout,
    encoding: 'utf8',
    env: { ...process.env, MANWIDTH: '80' },
  })
  t.equal(shown.stderr, '')
  t.match(shown.stdout, /\bkey create --name NAME\b/)
})
