/** The type of tools, and what makes the text that a model gets. */
import { z } from 'zod'
import { Refusal } from '../../base/mail/refusal.js'
import { ownValueOf } from '../../base/platform/records.js'
import { parseInput } from '../../servers/api/http/input/parse-input.js'
import type { ApiAccess } from './api-access.js'
import { ToolRefusal } from './tool-refusal.js'

/** Bytes. A model cannot use much more, and a client may refuse it. */
const MAX_TEXT = 50_000

export interface Tool {
  readonly name: string
  readonly description: string
  /** It changes something, so it is there only with `--allow-changes`. */
  readonly changes: boolean
  /** JSON Schema of the arguments. */
  readonly inputSchema: unknown
  /** Throws a ToolRefusal if the arguments are wrong or the server refuses the request. */
  readonly call: (api: ApiAccess, given: unknown) => Promise<string>
}

interface ToolSpec<Input> {
  readonly name: string
  readonly description: string
  readonly changes?: boolean
  readonly input: z.ZodType<Input>
  /** Returns a text, or a value that becomes JSON. */
  readonly run: (api: ApiAccess, input: Input) => Promise<unknown>
}

export function defineTool<Input>({ name, description, changes = false, input, run }: ToolSpec<Input>): Tool {
  return {
    ...{ name, description, changes },
    inputSchema: z.toJSONSchema(input, { io: 'input' }),
    call: async (api, given) => {
      const result = await run(api, parseArguments(input, given))
      return cutText(typeof result === 'string' ? result : JSON.stringify(result))
    },
  }
}

/** Lists every argument at fault, in the words of the API. */
function parseArguments<Input>(input: z.ZodType<Input>, given: unknown): Input {
  try {
    return parseInput(input, given)
  } catch (error) {
    const errors = error instanceof Refusal ? ownValueOf(error.details, 'errors') : undefined
    if (!Array.isArray(errors)) throw error
    const lines = errors.map((each) => `${ownValueOf(each, 'field') || 'arguments'}: ${ownValueOf(each, 'message')}`)
    throw new ToolRefusal(lines.join('\n'))
  }
}

function cutText(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_TEXT) return text
  let end = MAX_TEXT
  // A character is not divided: its later bytes begin with 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  const note = `This answer was cut after ${end} of ${bytes.length} bytes. Ask for fewer items, or for one of them.`
  return `${bytes.toString('utf8', 0, end)}\n${note}`
}
