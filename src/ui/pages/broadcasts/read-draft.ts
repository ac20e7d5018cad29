/** Reads the draft that a form and an editor have, and finds what is missing. */
import type { FieldError } from '../../api/api-error.ts'
import { readLines, readText } from '../../components/form-values.ts'
import type { EditedContent } from '../templates/content-fields.tsx'
import type { WrittenDraft } from './draft-saver.ts'

export function readDraft(values: FormData, content: EditedContent): WrittenDraft {
  const { source, html, blocks, text } = content
  const common = {
    name: readText(values, 'name'),
    audience_id: readText(values, 'audience_id'),
    from: readText(values, 'from'),
    reply_to: readLines(values, 'reply_to'),
  }
  const gaps = [
    ...gapOf('name', common.name, 'Name the broadcast.'),
    ...gapOf('audience_id', common.audience_id, 'Choose an audience.'),
    ...gapOf('from', common.from, 'Say who the sender is.'),
  ]
  const templateId = readText(values, 'template_id')
  if (templateId !== '') return { body: { ...common, template_id: templateId }, gaps }
  const subject = content.subject.trim()
  const body = source === 'blocks' && blocks !== null ? { blocks } : { html }
  const written = isEmpty(content) ? '' : source
  return {
    body: { ...common, subject, text, ...body },
    gaps: [...gaps, ...gapOf('subject', subject, 'Write a subject.'), ...gapOf(source, written, 'Write the mail.')],
  }
}

function gapOf(field: string, value: string, message: string): readonly FieldError[] {
  return value === '' ? [{ field, message }] : []
}

function isEmpty({ source, html, blocks, text }: EditedContent): boolean {
  return text === '' && (source === 'html' ? html === '' : blocks === null)
}
