/**
 * Templates taken apart, from memory: most sends use the same few.
 *
 * Holds what was read until it is told to forget it: one template that we change ourselves,
 * or all of them, when somebody else may have changed any. The ones that were not used for
 * longest leave first.
 *
 * Limit: templates of 16 MB together, by what their pieces take in memory.
 */
import type { Read } from '../storage/prepared.js'
import type { ParsedTemplate } from './render-template.js'
import { parseText, type TemplateText } from './template-text.js'
import { type Template, templateById } from './templates.js'

export interface TemplateBook {
  readonly find: (workspaceId: string, id: string) => ParsedTemplate | undefined
  readonly forget: (workspaceId: string, id: string) => void
  readonly drop: () => void
}

const MOST = 16 * 1_048_576
/** Of a template and of each of its pieces, beside its text. */
const OVERHEAD = 1_000
const OF_PIECE = 64

interface Kept {
  readonly template: ParsedTemplate
  readonly weight: number
}

export function templateBook({ read }: { readonly read: Read }, most = MOST): TemplateBook {
  /** In the order of their last use. */
  const kept = new Map<string, Kept>()
  let weight = 0

  function take(key: string): Kept | undefined {
    const found = kept.get(key)
    if (found === undefined) return undefined
    kept.delete(key)
    weight -= found.weight
    return found
  }

  function put(key: string, one: Kept): void {
    kept.set(key, one)
    weight += one.weight
    for (const oldest of kept.keys()) {
      if (weight <= most) return
      take(oldest)
    }
  }

  return {
    find: (workspaceId, id) => {
      const key = `${workspaceId} ${id}`
      const one = take(key) ?? readTemplate(read, workspaceId, id)
      if (one !== undefined) put(key, one)
      return one?.template
    },
    forget: (workspaceId, id) => {
      take(`${workspaceId} ${id}`)
    },
    drop: () => {
      kept.clear()
      weight = 0
    },
  }
}

function readTemplate(read: Read, workspaceId: string, id: string): Kept | undefined {
  const [row] = templateById(read, { workspaceId, id })
  return row === undefined ? undefined : keptOf(parsedTemplate(row))
}

export function parsedTemplate({
  id,
  subject,
  html,
  text,
}: Pick<Template, 'id' | 'subject' | 'html' | 'text'>): ParsedTemplate {
  return {
    id,
    subject: parseText(subject),
    html: html === null ? null : parseText(html),
    text: text === null ? null : parseText(text),
  }
}

function keptOf(template: ParsedTemplate): Kept {
  const { subject, html, text } = template
  const weight = [subject, html, text].reduce((sum, part) => sum + (part === null ? 0 : weightOf(part)), OVERHEAD)
  return { template, weight }
}

function weightOf({ literalBytes, pieces }: TemplateText): number {
  return literalBytes + pieces.length * OF_PIECE
}
