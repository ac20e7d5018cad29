/**
 * Makes way for a Unix socket: the file of a program that was killed stays behind, and nobody
 * could listen there again.
 *
 * Nothing is removed that somebody answers at, or that is no socket.
 */
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'

/** Rejects when the path is taken. */
export async function clearSocketFile(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (found === null) return
  if (!found.isSocket()) throw new Error(`${path} is there and is no socket`)
  if (await isAlive(path)) throw new Error(`${path} is in use: another program answers there`)
  await unlink(path)
}

function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(false)
      else if (error.code === 'EAGAIN')
        resolve(true) // its queue of connections is full
      else reject(error)
    })
  })
}
