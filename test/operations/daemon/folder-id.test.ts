/** The id of a data folder is kept, and a copy of the folder has another one. */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readFolderId } from '../../../src/operations/daemon/folder-id.js'
import { temporaryFolder } from '../../helpers/database/database.js'

t.test('a daemon that is started again has the same id', async (t) => {
  const folder = temporaryFolder(t)
  const id = await readFolderId(folder)
  t.equal(await readFolderId(folder), id)
  t.ok(id.startsWith(`${readFileSync(join(folder, 'folder-id'), 'utf8')} `))
})

t.test('a copy with the same files is another folder', async (t) => {
  const folder = temporaryFolder(t)
  const [own, copy] = [join(folder, 'own'), join(folder, 'copy')]
  mkdirSync(own)
  mkdirSync(copy)
  const id = await readFolderId(own)
  copyFileSync(join(own, 'folder-id'), join(copy, 'folder-id'))
  t.not(await readFolderId(copy), id)
})
