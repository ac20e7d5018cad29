/** Commands on the spam classifier, beside the daemon. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Run } from '../../../helpers/cli/command-line.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

/** A folder of files by their names. */
function folderOf(t: Test, files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder(t)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

const letter = (text: string): string => `From: bob@b.test\nSubject: ${text}\n\n${text}\n`

t.test('the spam classifier learns from files while the daemon runs', async (t) => {
  const app = await testDaemon(t)
  const run: Run = (...argv) => app.cli(...argv)
  const own = ['--workspace', app.workspaceId] as const
  const files = folderOf(t, {
    'one.eml': letter('cheap watches'),
    'same.eml': letter('cheap watches'),
    'two.eml': `From bob@b.test Mon Jan  5 12:00:00 2026\n${letter('cheaper watches')}`,
    'picture.png': '\x89PNG no message',
    'empty.eml': '',
    passwd: 'root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n',
    '.hidden': letter('hidden'),
    'folder/three.eml': letter('not taken'),
  })
  t.match(await run('spam', 'learn', files, '--as', 'spam'), { status: 1, err: /there are several workspaces/ })
  const first = await run('spam', 'learn', files, '--as', 'spam', ...own, '--json')
  t.equal(first.status, 1, 'the status, too, shows that a file could not be read')
  t.same(first.json(), {
    learned: 2,
    known: 1,
    unreadable: 3,
    unreadable_files: ['empty.eml', 'passwd', 'picture.png'].map((name) => join(files, name)),
  })
  const again = await run('spam', 'learn', files, '--as', 'spam', ...own)
  t.equal(
    again.out,
    `0 learned\n3 known already\n3 unreadable:\n  ${files}/empty.eml\n  ${files}/passwd\n  ${files}/picture.png\n`,
  )
  const counts = 'select verdict, count from bayes_messages where workspace_id = ? and count > 0'
  t.same(await app.rows(counts, app.workspaceId), [{ verdict: 'spam', count: 2 }])
  t.same(await app.rows(counts, app.otherWorkspaceId), [])

  const maildir = folderOf(t, {
    'cur/1.a:2,S': letter('cheap watches'),
    'new/2.a': letter('minutes of the board'),
    'tmp/3.a': letter('half written'),
    'dovecot-uidlist': '3 V1 N3',
  })
  const ham = await run('spam', 'learn', maildir, '--as', 'ham', ...own)
  t.match(ham, { status: 0, out: '2 learned\n' })
  t.same(
    await app.rows(`${counts} order by verdict`, app.workspaceId),
    [
      { verdict: 'ham', count: 2 },
      { verdict: 'spam', count: 1 },
    ],
    'what was spam before is ham now',
  )
  t.match(await run('spam', 'learn', folderOf(t, {}), '--as', 'ham', ...own), { status: 1, err: /no files in/ })
  t.match(await run('spam', 'learn', join(files, 'nowhere'), '--as', 'ham', ...own), {
    status: 1,
    err: /DIR: found .*nowhere; allowed: a folder/,
  })
  const file = join(files, 'one.eml')
  t.match(await run('spam', 'learn', file, '--as', 'ham', ...own), { status: 1, err: /one\.eml; allowed: a folder/ })
  t.same(app.errors, [])
})
