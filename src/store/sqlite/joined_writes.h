// A VFS for SQLite (sqlite.org/vfs.html) over the default one, which writes to a WAL what SQLite writes in
// two small parts a page (a frame's header, the page) in one piece a transaction. A detail of this room.
//
// Kept back are only frames that nobody else can read yet: those before the frame that commits, in the order
// and at the places that SQLite said. The call that writes the end of the frame that commits writes all,
// before it answers, so what follows (the sync, the index that shows the commit to others, the release of the
// lock) needs nothing of this, whatever `synchronous` is. What reads, syncs, cuts or measures the file writes
// what was kept first. What is kept when the write lock is let go was rolled back, and is forgotten: the next
// writer's frames come to the same place.
//
// When the disk takes not all of it (FULL, IOERR), the call that wrote says so, and so does every later one
// until the write lock is let go: a frame that SQLite believes to be written (a cache that spilled) is not
// there, so the transaction may only be rolled back. Without the lock, in locking_mode=EXCLUSIVE, that is for
// ever.
//
// One thread for each connection, like Connection. No memory maps (xFetch): nothing of ours asks for them.
#pragma once

namespace pawl::store::sqlite {

// Its name, for sqlite3_open_v2. The first call of a process registers it, over what is the default by then.
const char* joined_writes_vfs();

}  // namespace pawl::store::sqlite
