/** Messages of broadcasts as all readers of bytes find them. */
import t from 'tap'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { readRaw, sizeOfMessage } from '../../../../src/records/messages/email/raw-message.js'
import { encodeFrame } from '../../../../src/records/messages/frames/encode-frame.js'
import { removeSlots } from '../../../../src/records/messages/frames/framed-message.js'
import type { MessageFrame } from '../../../../src/records/messages/frames/message-frame.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { fileOfSqlite, skipOnPostgres } from '../../../helpers/database/test-engine.js'

const frameOf = (broadcastId: string): MessageFrame => ({
  pieces: [Buffer.from(`${broadcastId} `), { value: 0, encoding: 'verbatim' }],
  smtputf8: false,
  recipe: { broadcastId, hostname: '', domain: '', base: '', subject: [], values: [{ kind: 'email-id' }] },
})

t.test('bytes are built from the frame of the broadcast and the values of the message', async (t) => {
  const { database } = await temporaryDatabase(t)
  const newRow = rowOf(database.read)
  // More than stay in memory.
  const names = Array.from({ length: 12 }, (_, number) => `broadcast-${number}`)
  await database.commit(
    (
      await Promise.all(
        names.map(async (name) => {
          const own = { broadcast_id: name, workspace_id: 'ws_1', created_at: 1 }
          return [
            await newRow('broadcast_frames', { ...own, frame: encodeFrame(frameOf(name)) }),
            await newRow('emails', {
              id: `bc-${name}`,
              workspace_id: 'ws_1',
              broadcast_id: name,
              size: name.length + 4,
            }),
            await newRow('broadcast_messages', { ...own, email_id: `bc-${name}`, slots: '["bob"]' }),
          ]
        }),
      )
    ).flat(),
  )
  for (const name of [...names, ...names]) {
    const key = { workspaceId: 'ws_1', emailId: `bc-${name}` }
    t.equal((await readRaw(database.read, key))?.toString(), `${name} bob`)
    t.equal(await sizeOfMessage(database.read, key), name.length + 4)
  }
  const foreign = { workspaceId: 'ws_2', emailId: 'bc-broadcast-0' }
  t.equal(await readRaw(database.read, foreign), undefined, 'another workspace has no such message')
  t.equal(await sizeOfMessage(database.read, foreign), 0)

  const key = { workspaceId: 'ws_1', emailId: 'bc-broadcast-11' }
  await database.commit([removeSlots(key)])
  t.equal(await readRaw(database.read, key), undefined, 'its values are gone')
  t.equal(await sizeOfMessage(database.read, key), 0)
  t.equal(await readRaw(database.read, { ...key, emailId: 'bc-none' }), undefined)
})

t.test(
  'verify-data names a message in the queue whose frame or values are lost',
  { skip: skipOnPostgres(fileOfSqlite) },
  async (t) => {
    const { database, file } = await temporaryDatabase(t)
    const newRow = rowOf(database.read)
    const names = ['whole', 'frameless', 'empty']
    await database.commit([
      await newRow('workspaces', { id: 'ws_1' }),
      ...(
        await Promise.all(
          names.map(async (name) => {
            const own = { broadcast_id: name, workspace_id: 'ws_1', created_at: 1 }
            const message = { ...own, email_id: `bc-${name}`, slots: name === 'empty' ? null : '["bob"]' }
            const frame = await newRow('broadcast_frames', { ...own, frame: encodeFrame(frameOf(name)) })
            return [
              ...(name === 'frameless' ? [] : [frame]),
              await newRow('emails', { id: `bc-${name}`, workspace_id: 'ws_1', broadcast_id: name, status: 'queued' }),
              await newRow('recipients', { id: name, email_id: `bc-${name}`, workspace_id: 'ws_1', status: 'queued' }),
              await newRow('queue', { id: name, email_id: `bc-${name}`, workspace_id: 'ws_1', broadcast_id: name }),
              await newRow('broadcast_messages', message),
            ]
          }),
        )
      ).flat(),
    ])
    const found = verifyData(file).find(({ check }) => check === 'email-raw')
    t.match(found?.message, /^2 .*: bc-empty, bc-frameless$/)
  },
)
