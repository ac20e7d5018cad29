/**
 * Makes way for a Unix socket: the file of a program that was killed stays behind, and nobody
 * could listen there again.
 *
 * Nothing is removed that somebody answers at, or that is no socket.
 */
import { access, lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'

/** Rejects when the path is taken, or its folder is not there. */
export async function removeStaleSocket(path: string): Promise<void> {
  await access(dirname(path)) // to listen there would say "permission denied"
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (found === null) return
  if (!found.isSocket()) throw new Error(`${path} is there and is no socket`)
  if (await isListening(path)) throw new Error(`${path} is in use: another program answers there`)
  await unlink(path)
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(false)
      // EAGAIN: its queue of connections is full.
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(error)
    })
  })
}
