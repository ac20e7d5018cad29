/** Says that the search over everything is open, and opens it by keys. */
import { signal } from '@preact/signals'

export const searchOpen = signal(false)

/** Opens the search with Ctrl+K or ⌘K, and with “/” where the user is not writing. */
export function openByKey(event: KeyboardEvent): void {
  if (searchOpen.value || document.querySelector('dialog[open]') !== null) return
  const { key, target, ctrlKey, metaKey, altKey } = event
  const isEditable = target instanceof HTMLElement && target.isContentEditable
  const isCommand = (ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k' && !isEditable
  const isWriting =
    isEditable ||
    (target instanceof HTMLElement && target.matches('input:not([type="checkbox"], [type="radio"]), textarea'))
  const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !isWriting
  if (!isCommand && !isSlash) return
  event.preventDefault()
  searchOpen.value = true
}
