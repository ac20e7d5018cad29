/**
 * A web server that has the files of a folder as they are now, and keeps nothing in between.
 *
 *   node file-server.mjs FOLDER ADDRESS PORT
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join, normalize } from 'node:path'

const [folder = '', address = '', port = ''] = process.argv.slice(2)

const server = createServer(async (request, response) => {
  try {
    response.end(await readFile(join(folder, normalize(decodeURIComponent(new URL(request.url, 'http://a').pathname)))))
  } catch {
    response.writeHead(404).end()
  }
})
server.listen(Number(port), address, () => console.log('ready'))
