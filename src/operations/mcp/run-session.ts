/** One session over standard input and output: a message is a line, and several calls run at the same time. */
import { LineSplitter } from './line-splitter.js'
import type { McpServer } from './mcp-server.js'

/** Bytes. */
const MAX_LINE = 8_388_608
/** The next line is read when one of them is answered. */
const MAX_CALLS = 8

/** Resolves when the input has ended and everything is answered. */
export async function runSession(
  input: AsyncIterable<Buffer>,
  server: McpServer,
  writeLine: (line: string) => void,
): Promise<void> {
  const splitter = new LineSplitter(MAX_LINE)
  const running = new Set<Promise<void>>()
  const start = async (line: string | null): Promise<void> => {
    const call = server.answer(line).then((reply) => {
      running.delete(call)
      if (reply !== null) writeLine(reply)
    })
    running.add(call)
    if (running.size >= MAX_CALLS) await Promise.race(running)
  }
  for await (const chunk of input) {
    for (const line of splitter.push(chunk)) await start(line)
  }
  await start(splitter.finish())
  await Promise.all(running)
}
