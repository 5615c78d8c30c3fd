import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { applyColorScheme, storedColorScheme } from './frame/color-scheme.ts'
import { router } from './router.tsx'

applyColorScheme(storedColorScheme())
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no element #root')
// The page is rendered when its code is there: React shows what replaces a fallback 300 ms after it at the earliest.
await router.load()
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
