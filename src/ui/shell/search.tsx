/** The button that opens the search over everything, and the dialog while it is open. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { workspace } from '../api/session-state.ts'
import { SearchDialog } from './search-dialog.tsx'
import { openByKey, searchOpen } from './search-state.ts'
import './search.css'

export function SearchButton(): VNode | null {
  if (workspace.value === null) return null
  const open = (): void => {
    searchOpen.value = true
  }
  return (
    <button type="button" class="search-button" aria-keyshortcuts="/ Control+K" onClick={open}>
      <span>Search</span>
      <span class="search-key" aria-hidden="true">
        /
      </span>
    </button>
  )
}

/** Stands once in the shell, beside parts that a narrow screen hides. */
export function Search(): VNode | null {
  useEffect(() => {
    document.addEventListener('keydown', openByKey)
    return () => document.removeEventListener('keydown', openByKey)
  }, [])
  const close = (): void => {
    searchOpen.value = false
  }
  return searchOpen.value && workspace.value !== null ? <SearchDialog onClose={close} /> : null
}
