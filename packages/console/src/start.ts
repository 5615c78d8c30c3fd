import './root-address.ts'
import 'virtual:tokens.css'
import './styles/console.css'
import { startAddress } from './page-starts.ts'

// The first script: it requests what the page shows while the browser compiles the others.
try {
  startAddress(location)
} finally {
  // Not awaited: it imports modules of this script, and would wait for it.
  void import('./main.tsx')
}
