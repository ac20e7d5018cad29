/** Reads the recipe of a stored frame from its JSON, strictly. */
import { isRecord } from '../../../base/platform/records.js'
import type { FrameRecipe, FrameText, FrameValue, FrameVariable } from './frame-recipe.js'

/** Returns null if the JSON is no recipe. */
export function readRecipe(json: unknown): FrameRecipe | null {
  if (!isRecord(json)) return null
  const { broadcastId, hostname, domain, base, subject, values } = json
  const texts = [broadcastId, hostname, domain, base].filter((text) => typeof text === 'string')
  const [id, host, from, url] = texts
  const line = readText(subject)
  const read = Array.isArray(values) ? values.map(readValue) : [null]
  const known = read.filter((value) => value !== null)
  if (id === undefined || host === undefined || from === undefined || url === undefined) return null
  if (line === null || known.length !== read.length) return null
  return { broadcastId: id, hostname: host, domain: from, base: url, subject: line, values: known }
}

function readValue(json: unknown): FrameValue | null {
  if (!isRecord(json)) return null
  const { kind } = json
  switch (kind) {
    case 'email-id':
    case 'date':
    case 'unsubscribe-token':
    case 'to':
    case 'subject':
      return { kind }
    case 'variable':
    case 'text-of-variable': {
      const variable = readVariable(json['variable'])
      return variable === null ? null : { kind, variable }
    }
    case 'link': {
      const url = readText(json['url'])
      return url === null ? null : { kind, url }
    }
    default:
      return null
  }
}

function readText(json: unknown): FrameText | null {
  if (!Array.isArray(json)) return null
  const read = json.map((piece: unknown) => (typeof piece === 'string' ? piece : readVariable(piece)))
  const known = read.filter((piece) => piece !== null)
  return known.length === read.length ? known : null
}

function readVariable(json: unknown): FrameVariable | null {
  if (!isRecord(json)) return null
  const { name, fallback, part } = json
  if (typeof name !== 'string' || typeof fallback !== 'string') return null
  if (part === undefined) return { name, fallback }
  return part === 'path' || part === 'query' ? { name, fallback, part } : null
}
