/** Reads the values of a form by the names of its fields. */
import { toFieldError } from '../api/api-error.ts'
import { readNow } from './clock.ts'

/** Reads a text without the space around it. */
export function readText(values: FormData, name: string): string {
  const value = values.get(name)
  return typeof value === 'string' ? value.trim() : ''
}

/** Reads a text exactly as it was typed, for passwords and bodies of messages. */
export function readExactText(values: FormData, name: string): string {
  const value = values.get(name)
  return typeof value === 'string' ? value : ''
}

export function readFlag(values: FormData, name: string): boolean {
  return values.get(name) !== null
}

/** The chosen values of a ChoicesField. */
export function readChoices(values: FormData, name: string): string[] {
  return values.getAll(name).filter((value) => typeof value === 'string')
}

/** The lines of a TextArea, without empty ones. */
export function readLines(values: FormData, name: string): string[] {
  return readExactText(values, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Converts a time in the browser's zone, as a field has it, to UTC. The server refuses what is not a time. */
export function toMoment(text: string): string {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? text : at.toISOString()
}

/**
 * Reads a field of the type `datetime-local`, which has the time of the browser's zone, as UTC. Null means that it
 * is empty.
 */
export function readTime(values: FormData, name: string): string | null {
  const text = readText(values, name)
  const at = new Date(text)
  return text === '' || Number.isNaN(at.getTime()) ? null : at.toISOString()
}

/** Writes a time for a field of the type `datetime-local`, in the browser's zone. */
export function toFieldTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)
}

/** Does the same as `readTime`. Throws an ApiError for a past time, because servers would take it as now. */
export function readFutureTime(values: FormData, name: string): string | null {
  const at = readTime(values, name)
  if (at === null || new Date(at).getTime() > readNow()) return at
  throw toFieldError(name, 'Must be a time in the future.')
}

/** Null means that the user chose no file. */
export function readFile(values: FormData, name: string): File | null {
  const value = values.get(name)
  return value instanceof File && (value.size > 0 || value.name !== '') ? value : null
}
