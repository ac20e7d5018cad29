/** Suppressions that the command line adds and imports. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { databaseCommands } from '../../../../src/operations/cli/command-list/all-commands.js'
import { suppressionReasons } from '../../../../src/records/suppressions/suppressions.js'
import { createInstallation, readAuditLog, setUpWorkspace } from '../../../helpers/cli/command-line.js'
import { runCommand } from '../../../helpers/daemon/test-daemon.js'

interface Listed {
  readonly data: readonly { readonly email: string; readonly reason: string }[]
}

t.test('addresses are added once, and keep their first reason', async (t) => {
  const { run } = createInstallation(t)
  await setUpWorkspace(run)
  t.match(await run('suppression', 'add', 'Bob@b.test', 'a..b@docomo.test', '--reason', 'spam_complaint'), {
    status: 0,
    out: 'bob@b.test is not written to from now on\na..b@docomo.test is not written to from now on\n',
  })
  const again = await run('suppression', 'add', 'bob@b.test', 'new@b.test', '--json')
  t.match(again.json(), {
    data: [
      { email: 'bob@b.test', reason: 'spam_complaint', added: false },
      { email: 'new@b.test', reason: 'manual', added: true },
    ],
  })
  t.match(await run('suppression', 'add', 'bob@b.test'), {
    out: 'bob@b.test was on the list already (spam_complaint)\n',
  })
  const before = (await run('suppression', 'list', '--json')).json() as Listed
  t.equal(before.data.length, 3)
  t.match(await run('suppression', 'add', 'fine@b.test', 'none'), { status: 1, err: /ADDRESS: found "none", allowed/ })
  t.match(await run('suppression', 'add', 'a@b.test', '--reason', 'spite'), {
    status: 2,
    err: /--reason: found "spite", allowed: hard_bounce, spam_complaint, manual, unsubscribe/,
  })
  t.match(await run('suppression', 'add'), { status: 2, err: /ADDRESS is missing/ })
  t.same((await run('suppression', 'list', '--json')).json(), before, 'what is refused adds nothing')
  t.equal((await run('suppression', 'delete', 'a..b@docomo.test')).status, 0, 'what can be added can be removed')

  t.equal((await run('suppression', 'add', 'guest@b.test', '--service')).status, 0)
  t.match((await run('suppression', 'list', '--service', '--json')).json(), { data: [{ email: 'guest@b.test' }] })
})

t.test('files are imported as over REST, and refused lines are named', async (t) => {
  const here = createInstallation(t)
  const { run, folder, config } = here
  const { workspace_id } = await setUpWorkspace(run)
  const file = join(folder, 'list.csv')
  writeFileSync(file, 'email,reason\nbob@b.test,unsubscribe\nnone,\nann@b.test,\nbob@b.test,\nx@b.test,soft bounce\n')
  const shown = await run('suppression', 'import', file, '--reason', 'hard_bounce')
  t.equal(shown.status, 1, 'scripts notice that lines were refused')
  t.match(
    shown.out,
    /^\S+list\.csv: 2 added, 1 known already, 2 refused\n {2}line 3: email "none" is not a mail address/,
  )
  t.match(shown.out, /\n {2}line 6: reason "soft bounce" was a temporary failure/)
  const { data } = (await run('suppression', 'list', '--json')).json() as Listed
  t.same(
    new Map(data.map(({ email, reason }) => [email, reason])),
    new Map([
      ['bob@b.test', 'unsubscribe'],
      ['ann@b.test', 'hard_bounce'],
    ]),
  )

  const csv =
    'EmailAddress,SuppressionReason,Origin,CreatedAt\nguest@b.test,HardBounce,Recipient,2026-01-01T00:00:00Z\n'
  const imported = await runCommand(['suppression', 'import', '-', '--service', '--json', '--config', config], csv)
  t.equal(imported.status, 0, imported.err)
  t.match(imported.json(), { provider: 'postmark', added: 1, known: 0, refused: 0, refusals: [] })

  t.match(await run('suppression', 'import', join(folder, 'absent')), { status: 1, err: /ENOENT/ })
  t.match(await runCommand(['suppression', 'import', '-', '--config', config], ''), {
    status: 1,
    err: /file: is empty/,
  })
  t.match(await runCommand(['suppression', 'import', '-', '--config', config], 'name\nBob\n'), {
    status: 1,
    err: /line 1 must be the column names, one of them for the address/,
  })
  const acts = (await readAuditLog(t, here)).filter(([action]) => action === 'suppressions.imported')
  t.match(acts, [
    ['suppressions.imported', workspace_id, { provider: 'list', added: 2, known: 1, refused: 2 }],
    ['suppressions.imported', 'service', { provider: 'postmark', added: 1 }],
  ])
})

t.test('the usage names the reasons that there are', async (t) => {
  for (const name of ['suppression add', 'suppression import']) {
    const usage = databaseCommands.find((command) => command.name === name)?.usage ?? ''
    t.ok(usage.includes(`--reason ${suppressionReasons.join('|')}]`), name)
  }
})
