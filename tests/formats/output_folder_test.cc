// formats/output_folder_test.cc
